"""Files to cases, and knowledge files to the nouns of the graph."""

__tunegraph__ = "0.1.0"
