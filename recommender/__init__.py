"""Turns a problem into ranked recommendations: retrieval, ranking, workspace."""

__tunegraph__ = True
