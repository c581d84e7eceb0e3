"""Results that benchmarks and trainers print and save, read by tables of ``data/outputs``."""
