"""Start configurations of single kernels: a domain, its limits, a tile model, and the language's spelling."""
