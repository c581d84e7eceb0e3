"""Spaces made from facts of hardware and of the problem, with rules that name their source."""
