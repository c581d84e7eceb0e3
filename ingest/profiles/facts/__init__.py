"""The facts of a profiled run: ranks, kernels, intervals, details."""
