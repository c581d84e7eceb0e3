"""Acquisition functions: the worth of evaluating a candidate, from its posterior; numpy only, minimisation.

``mean``, ``std``: posterior of the log cost, shape (n,); ``best``: log cost of the incumbent.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)

# Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26 with its absolute error of 1.5e-7.
_P = 0.3275911
_A = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


_TAIL, _DEPTH = 2.0, 16
"""Deviations below which the continued fraction is taken, and its terms: 1e-5 relative there."""


def normal_cdf(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard normal distribution function, absolute error below 1e-7."""
    x = np.abs(z) / math.sqrt(2.0)
    t = 1.0 / (1.0 + _P * x)
    tail = t * (_A[0] + t * (_A[1] + t * (_A[2] + t * (_A[3] + t * _A[4])))) * np.exp(-x * x)
    return np.asarray(np.where(z > 0, 1.0 - 0.5 * tail, 0.5 * tail))


def log_expected_improvement(
    mean: NDArray[np.float64], std: NDArray[np.float64], best: float
) -> NDArray[np.float64]:
    """Logarithm of expected improvement under a normal posterior, for minimisation.

    ``log E[max(best - f, 0)]`` with ``f ~ N(mean, std**2)``. In the tail the continued fraction of Mills'
    ratio keeps an order where plain EI cancels and underflows to zero.

    Returns:
        Shape (n,); larger is better.

    Raises:
        ValueError: A standard deviation is not positive.

    Source:
        Ament et al., Unexpected Improvements to Expected Improvement, NeurIPS 2023.
    """
    if not np.all(std > 0):
        raise ValueError("a standard deviation is positive")
    z = (best - mean) / std
    log_phi = -0.5 * z * z - _HALF_LOG_2PI
    near = np.maximum(z, -_TAIL)
    plain = np.exp(-0.5 * near * near - _HALF_LOG_2PI) + near * normal_cdf(near)
    far = np.maximum(-z, _TAIL)
    fraction = far.copy()
    for k in range(_DEPTH, 1, -1):
        fraction = far + k / fraction
    tail = log_phi - np.log1p(far * fraction)
    return np.asarray(np.log(std) + np.where(z > -_TAIL, np.log(np.maximum(plain, 1e-300)), tail))
