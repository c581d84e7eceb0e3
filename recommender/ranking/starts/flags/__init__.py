"""Flags of a start: those of its layout, and those that its servers need."""
