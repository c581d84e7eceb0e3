"""``tunegraph green``: run it when the grid is clean."""
