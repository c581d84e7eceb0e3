"""Statistics of the layers of a network."""
