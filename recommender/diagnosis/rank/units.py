"""Names of the units of a core in the profiler's counters."""

from __future__ import annotations

CUBE = ("aic_mac_ratio", "aic_scalar_ratio", "aic_mte1_ratio", "aic_mte2_ratio", "aic_fixpipe_ratio")
VECTOR = ("aiv_vec_ratio", "aiv_scalar_ratio", "aiv_mte2_ratio", "aiv_mte3_ratio")


BUSY = 0.7
"""Ratio from which msprof-analyze calls a pipe of a vector kernel busy."""
