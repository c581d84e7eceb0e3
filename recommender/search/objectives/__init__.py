"""Objectives: the cost model, a callable, a recorded table."""
