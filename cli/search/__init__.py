"""``tunegraph search``: searches on the command line."""
