"""Applicability of strategies to a question."""
