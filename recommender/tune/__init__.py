"""Tuning of the user's own script: start, load, change one thing at a time, confirm the winner, write it."""
