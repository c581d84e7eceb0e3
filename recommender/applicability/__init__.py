"""Which strategies apply to a question."""
