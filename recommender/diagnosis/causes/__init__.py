"""The cause network and its posterior."""
