"""Start configurations: what to run first, complete, from layouts, recipes and what runs now."""
