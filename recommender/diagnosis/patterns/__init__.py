"""Analysers, one for each pattern of lost time."""
