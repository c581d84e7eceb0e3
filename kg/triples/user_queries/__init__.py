"""Queries that users write, answered in a process without network."""
