"""Databases that profilers write."""
