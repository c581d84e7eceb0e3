"""Measured rows: the trial store and what is counted from it."""
