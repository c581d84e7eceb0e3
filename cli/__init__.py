"""The command line: the only place that prints, exits and reads the environment."""

__tunegraph__ = True
