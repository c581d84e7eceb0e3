"""Readers of recipes: complete configurations somebody publishes."""
