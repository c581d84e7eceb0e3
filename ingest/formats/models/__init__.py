"""Formats of results of whole models: training and serving."""
