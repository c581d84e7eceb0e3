"""Commands of the workspace as a whole."""
