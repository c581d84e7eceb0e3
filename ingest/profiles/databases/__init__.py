"""The profilers' databases."""
