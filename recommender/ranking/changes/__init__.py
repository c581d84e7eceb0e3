"""Strategies that fit a question, with the gain to expect."""
