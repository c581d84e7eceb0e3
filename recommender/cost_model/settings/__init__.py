"""Settings of frameworks as plans of the cost model."""
