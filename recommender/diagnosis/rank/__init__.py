"""One rank of a profile, and how it compares with its peers."""
