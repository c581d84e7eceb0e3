"""Questions as people put them, made into problems."""
