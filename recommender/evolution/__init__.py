"""Evolution of the knowledge by outcomes: incompatibilities, hypotheses, versions."""
