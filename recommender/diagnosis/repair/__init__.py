"""Fix tests: the run replayed with one cause repaired."""
