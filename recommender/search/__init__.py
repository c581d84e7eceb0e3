"""Search: which configuration of a declared space to evaluate next, and when to stop."""
