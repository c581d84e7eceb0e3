"""Ranking of configurations and strategies, with the gain to expect of each."""
