"""Units of a core in the profiler's counters, and how busy each is while a kernel runs."""

import numpy as np

from ingest.profiles.facts.kernels import Floats, Kernels, Mask

CUBE = ("aic_mac_ratio", "aic_scalar_ratio", "aic_mte1_ratio", "aic_mte2_ratio", "aic_fixpipe_ratio")
VECTOR = ("aiv_vec_ratio", "aiv_scalar_ratio", "aiv_mte2_ratio", "aiv_mte3_ratio")


BUSY = 0.7
"""Ratio from which msprof-analyze calls a pipe of a vector kernel busy."""


def pipe_use(kernels: Kernels) -> tuple[tuple[str, ...], Floats, Mask]:
    """Names of the pipes, the share of each kernel for which each is busy, and the kernels with counters.

    The shares have the shape (pipes, n), the mask (n,).

    Where cube and vector cores work on one kernel, the pipes of the core that is done earlier count less, by
    the share of the other's time in which it works.
    """
    names = (*CUBE, *VECTOR)
    if not any(name in kernels.pipes for name in names):  # no counters: nothing to hold for each kernel
        return names, np.broadcast_to(0.0, (len(names), len(kernels))), np.zeros(len(kernels), np.bool_)
    table = np.array([kernels.pipe(name) for name in names])
    counted = np.asarray(~np.isnan(table).all(axis=0), dtype=np.bool_)
    cube_us = np.nan_to_num(kernels.pipe("aicore_time(us)"))
    vector_us = np.nan_to_num(kernels.pipe("aiv_time(us)"))
    longer = np.maximum(cube_us, vector_us)
    timed = longer > 0
    for rows, spent in ((slice(0, len(CUBE)), cube_us), (slice(len(CUBE), len(names)), vector_us)):
        table[rows] *= np.where(timed, spent / np.where(timed, longer, 1.0), 1.0)
    return names, np.clip(np.nan_to_num(table), 0, 1), counted
