"""Profiler output to the facts of a run: folders, databases, traces and single tables."""
