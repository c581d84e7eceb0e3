"""The ask-and-tell engine: candidates, proposals, stopping."""
