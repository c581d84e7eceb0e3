"""What a search believes of candidates: surrogate, transfer, acquisition."""
