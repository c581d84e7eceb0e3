"""Reports of a search: its result, its course, and its symptoms."""
