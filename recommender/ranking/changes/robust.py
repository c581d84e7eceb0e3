"""Location and scale that no single observation moves far: Huber's M-estimates, with weights.

x[i]: observations; w[i]: their weights; m, s: location and scale; r[i] = (x[i] - m) / s.

    sum w[i] clip(r[i], -K, K) = 0        sum w[i] min(r[i]^2, WIDE^2) = B sum w[i]

B is the mean of ``min(Z^2, WIDE^2)`` for a standard normal Z, so that s is the standard deviation where the
observations are normal. However far it lies, an observation with a share p of the weight that is not clipped
moves m by about ``p K s`` at most, and log s by about ``p (WIDE^2 - B) / 2``.

Source: Huber and Ronchetti, Robust Statistics, 2nd edition, 2009, sections 5.2 and 6.4.
"""

import math
from collections.abc import Sequence

from kg.nouns.gain import normal_share

K = 1.345
"""Deviations beyond which an observation moves the location no more: 95 % efficient where all is normal."""

WIDE = 2.5
"""The same for the scale. Gains have a long tail, and a narrower bound takes it for error: of the published
gains of whole steps 12 % lay outside the 90 % interval with 1.345."""

_ROUNDS = 200
_CLOSE = 1e-9


def mean_square(bound: float) -> float:
    """Mean of ``min(Z^2, bound^2)`` for a standard normal Z."""
    beyond = 2 * normal_share(-bound)
    density = math.exp(-bound * bound / 2) / math.sqrt(2 * math.pi)
    return 1 - beyond - 2 * bound * density + bound * bound * beyond


_BETA = mean_square(WIDE)


def clipped_square(variance: float) -> float:
    """Mean of ``min(x^2, K^2)`` for a normal x of mean 0 and a variance above 0."""
    return variance * mean_square(K / math.sqrt(variance))


def variance_of(square: float) -> float:
    """The variance, from 0 to 1, of which ``square`` is the :func:`clipped_square`, which grows with it."""
    low, high = 1e-12, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if clipped_square(middle) < square else (low, middle)
    return high


def location_and_scale(
    values: Sequence[float], weights: Sequence[float], least: float
) -> tuple[float, float]:
    """Robust location and standard deviation.

    Args:
        values: The observations, at least one.
        weights: Of each, above zero.
        least: Scale at least, above zero.
    """
    total = sum(weights)
    middle = weighted_median(values, weights)
    scale = max(least, 1.4826 * weighted_median([abs(value - middle) for value in values], weights))
    for _ in range(_ROUNDS):
        residuals = [(value - middle) / scale for value in values]
        step = sum(w * max(-K, min(K, r)) for w, r in zip(weights, residuals, strict=True))
        inside = sum(w for w, r in zip(weights, residuals, strict=True) if abs(r) < K) or total
        square = sum(w * min(r * r, WIDE * WIDE) for w, r in zip(weights, residuals, strict=True))
        moved, wider = step / inside * scale, max(least, scale * math.sqrt(square / total / _BETA))
        middle += moved
        if abs(moved) + abs(wider - scale) < _CLOSE * scale:
            break
        scale = wider
    return middle, scale


def weighted_median(values: Sequence[float], weights: Sequence[float]) -> float:
    """The value with half of the weight on either side; the middle of two where it falls between them."""
    ordered = sorted(zip(values, weights, strict=True))
    half, below = sum(weights) / 2, 0.0
    for place, (value, weight) in enumerate(ordered):
        below += weight
        if below > half * (1 + 1e-12):
            return value
        if below >= half * (1 - 1e-12) and place + 1 < len(ordered):
            return (value + ordered[place + 1][0]) / 2
    return ordered[-1][0]
