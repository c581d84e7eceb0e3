"""Faults by mechanism: what the world does to a run, edited into its files."""
