"""Whole training and serving steps composed from operators."""
