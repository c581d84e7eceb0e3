"""The vocabulary of measuring: metrics, units, precisions, phases."""
