"""Retrieval of known problems that are similar to a question."""
