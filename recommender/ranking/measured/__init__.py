"""Measured runs of whole models, and what they say of layouts that nobody has run."""
