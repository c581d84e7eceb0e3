"""Problems as vectors, and the nearest ones found again."""
