"""Statistics of the layers of a network, from tables, documents and weights."""
