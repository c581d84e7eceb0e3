"""Formats of tuned kernels and kernel tuners."""
