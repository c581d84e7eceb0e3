"""Problems as vectors, and the nearest ones found again."""

__tunegraph__ = True
