"""From a problem to ranked recommendations: retrieval, ranking, workspace."""
