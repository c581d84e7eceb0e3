"""A search run from its file: task, objective, workers."""
