"""Commands that serve a workspace to other programs."""
