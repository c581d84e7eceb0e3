"""A/B tests that stay honest while they are watched."""
