"""Judges settings that run: against the release, what they switch off, and where they are right."""
