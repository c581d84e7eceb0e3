"""Costs far from the best, brought nearer: what matters is how the good ones differ.

``h``: log cost above the best, at least 0. The warped cost is ``best + S log(1 + h / S)``: of slope 1 at the
best, so improvements are what they were, and logarithmic far above it, so that a configuration a hundred
times slower does not teach the process that everything varies a hundredfold. Lower than the best stays.

Source: Snoek et al., Input Warping for Bayesian Optimization of Non-Stationary Functions, ICML 2014, for
warping at all; this form is ours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SOFT = 0.5
"""``S``, log cost: a factor of 1.6 above the best counts for 0.35 instead of 0.5. Of 0.5, 1 and 2 it needed
the fewest evaluations on the spaces of ``benchmarks/searches/warm_start.py``, warm and cold."""


def warp(costs: NDArray[np.float64], best: float) -> NDArray[np.float64]:
    """Log costs with those above the best brought nearer to it, shape as given."""
    above = costs - best
    return np.asarray(best + np.where(above > 0, SOFT * np.log1p(np.maximum(above, 0.0) / SOFT), above))


def unwarp(cost: float, stdev: float, best: float) -> tuple[float, float]:
    """A warped log cost and a standard deviation near it as they were before."""
    above = max(cost - best, 0.0) / SOFT
    slope = float(np.exp(above))
    return (best + SOFT * (slope - 1.0) if above > 0 else cost), stdev * slope
