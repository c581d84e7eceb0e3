"""Files to cases, and knowledge files to the nouns of the graph."""
