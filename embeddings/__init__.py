"""Problems as vectors, and the nearest ones found again."""

__tunegraph__ = "0.1.0"
