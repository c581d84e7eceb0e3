"""Nouns as triples: the stores, the tables that map them, queries, validation."""
