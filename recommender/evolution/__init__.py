"""What the graph does with outcomes: incompatibilities, hypotheses, versions."""
