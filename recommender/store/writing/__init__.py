"""The writing of batches: rows, vectors and the graph that acknowledges them."""
