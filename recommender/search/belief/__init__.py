"""The beliefs of a search about its candidates: surrogate, transfer, acquisition."""
