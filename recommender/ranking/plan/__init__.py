"""Plans: where to start, what to test on it in order, and what is not for a question."""
