"""Which attribute of which noun stands under which predicate."""
