"""The fix test: a cause repaired in the cost model."""
