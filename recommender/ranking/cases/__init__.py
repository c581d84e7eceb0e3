"""Configurations of past cases, scored and ranked."""
