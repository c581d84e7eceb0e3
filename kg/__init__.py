"""The knowledge graph: its nouns, its vocabulary, and the stores that keep them."""

__tunegraph__ = True
