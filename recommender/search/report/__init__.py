"""What a search found, and how it went."""
