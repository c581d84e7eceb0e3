"""From a problem to ranked recommendations: retrieval, ranking, workspace."""

__tunegraph__ = "0.1.0"
