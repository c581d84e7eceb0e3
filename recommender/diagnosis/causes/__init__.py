"""The cause graph, the posterior over its nodes, and the causes that follow from it."""
