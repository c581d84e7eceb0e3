"""The face of a workspace: one class with a desk for each side of it."""
