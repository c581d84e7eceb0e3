"""Stores of triples on other machines."""
