"""Safe reading of foreign files: bounded, unpacked, with the line of every value."""
