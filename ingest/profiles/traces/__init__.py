"""Chrome traces of the Ascend profiler and of PyTorch."""
