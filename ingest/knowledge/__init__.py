"""Knowledge files to the nouns of the graph."""
