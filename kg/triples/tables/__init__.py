"""The tables of the nouns: each attribute with its predicate."""
