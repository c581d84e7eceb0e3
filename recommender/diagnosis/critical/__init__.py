"""The critical path of a step across ranks and stages, and the measurement that would tell more."""
