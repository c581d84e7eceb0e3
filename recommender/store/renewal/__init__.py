"""An older workspace put on the knowledge that ships now, with its own records above it."""
