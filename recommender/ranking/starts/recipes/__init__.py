"""Recipes beside a question: how near they are, what they agree on, and the load that they are for."""
