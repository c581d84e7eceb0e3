"""Explains a recommendation, in sections that a person can read."""
