"""Formats of experiment trackers and optimisers."""
