"""Starts of a tune: what they may use, the machines that run them, and what each gave."""
