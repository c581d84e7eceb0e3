"""A workspace asked about its own problems, and what it learns from that."""
