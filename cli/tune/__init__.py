"""``tunegraph tune``: the user's own script, started, changed, measured and written."""
