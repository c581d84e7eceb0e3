"""``tunegraph ab``: experiments on the command line."""
