"""From a problem to ranked recommendations: retrieval, ranking, workspace."""

__tunegraph__ = True
