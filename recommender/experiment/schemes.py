"""Schemes in which measurements were taken, and the intervals that each supports.

=============== ============================================== ============================================
scheme          is                                             interval
=============== ============================================== ============================================
``randomised``  pairs, each in an order drawn for it           mixture t on pairs
``paired``      pairs whose inner order is not known           the same, wider by half a pair's drift
``interleaved`` order known, often switched, not random pairs  regression on arm and time
``sequential``  all of one, then all of the other; or unknown  the same, and a spread between sessions
=============== ============================================== ============================================

The regression takes a straight drift out and widens for what is left of autocorrelation. In a sequential
record arm and time nearly coincide, so that alone makes the interval some twice as wide; and nothing in
it tells an effect from the difference of two sessions, so ``SESSION`` is added to its variance.
"""

import math
import statistics
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from recommender.experiment.mixture import G, least_pairs
from recommender.experiment.verdict import UNKNOWN, Interval

SESSION = 0.01
"""Standard deviation, in nats, of the same program between two sessions (layout, clocks, neighbours). A
choice: nobody can know it from one record; measure it with ``ab run --self-test`` on two days."""

LEAST_SWITCHES = 4
"""Changes of arm below which a record counts as sequential: a drift can be read into fewer. A choice."""

DRIFT_T = 4.0
"""Slope over its standard error from which values are said to drift; some 1 in 10,000 by chance."""
_DRIFT_LEAST = 8

_MOST_CORRELATION = 0.95
_COLUMNS = 3  # arm, level, drift


class Scheme(StrEnum):
    """The order in which measurements were taken."""

    RANDOMISED = "randomised"
    PAIRED = "paired"
    INTERLEAVED = "interleaved"
    SEQUENTIAL = "sequential"

    @property
    def is_paired(self) -> bool:
        """True if pairs are what counts."""
        return self in {Scheme.RANDOMISED, Scheme.PAIRED}

    @property
    def warning(self) -> str:
        """A note on its weakness beside a randomised test; empty for one."""
        return {
            Scheme.RANDOMISED: "",
            Scheme.PAIRED: (
                "weaker: the order within the pairs is not known; "
                "the interval is wider by what half a pair's drift can do"
            ),
            Scheme.INTERLEAVED: (
                "weaker: the order was not drawn at random; drift along a line is taken out, "
                "a disturbance in step with the order is not"
            ),
            Scheme.SEQUENTIAL: (
                "weaker: all of one, then all of the other: drift and the difference between two sessions "
                f"look like an effect; the interval allows for drift and for {SESSION:.0%} between sessions"
            ),
        }[self]


def scheme_of(arms: Sequence[str], pairs: Sequence[str | None], *, is_ordered: bool) -> Scheme:
    """The scheme of measurements of two arms.

    Args:
        arms: Arm of each, in the order they were taken.
        pairs: Label of the pair of each; None where it has none.
        is_ordered: Whether the order is that in which they were taken.
    """
    groups: dict[str, list[str]] = {}
    for arm, label in zip(arms, pairs, strict=True):
        if label is not None:
            groups.setdefault(label, []).append(arm)
    whole = [tuple(group) for group in groups.values() if len(group) == 2 and len(set(group)) == 2]
    switches = sum(one != other for one, other in pairwise(arms))
    if 2 * len(whole) > len(arms) // 2:
        if not is_ordered or switches < LEAST_SWITCHES:
            return Scheme.PAIRED
        first = [group[0] for group in whole]
        return Scheme.RANDOMISED if len(set(first)) > 1 and not _alternates(first) else Scheme.INTERLEAVED
    return Scheme.INTERLEAVED if is_ordered and switches >= LEAST_SWITCHES else Scheme.SEQUENTIAL


def _alternates(first: Sequence[str]) -> bool:
    """Return whether the arm that begins changes with every pair, which nobody's coin does for long."""
    return len(first) > LEAST_SWITCHES and all(one != other for one, other in pairwise(first))


def by_regression(
    values: NDArray[np.float64], is_treatment: NDArray[np.bool_], alpha: float, *, spread: float
) -> Interval:
    """The effect of the arm beside a straight drift.

    Args:
        values: Shape (n,), in the order taken; above is better.
        is_treatment: Shape (n,).
        alpha: Chance that the interval misses the effect, however often it is made anew.
        spread: Standard deviation between sessions.

    Returns:
        The interval. Its evidence is the mixture t's of a regression coefficient: with m the effective
        number of pairs ``s**2 / se**2``, theorem 2 of the source named in ``mixture``.
    """
    n, pairs = len(values), int(min(is_treatment.sum(), (~is_treatment).sum()))
    if pairs < least_pairs(alpha):
        mean = float(values[is_treatment].mean() - values[~is_treatment].mean()) if pairs else math.nan
        return Interval(mean=mean, low=-math.inf, high=math.inf, p=1.0, pairs=pairs)
    columns = np.stack([is_treatment.astype(float), np.ones(n), np.linspace(-1, 1, n)], axis=1)
    inverse = np.linalg.inv(columns.T @ columns)
    fitted = inverse @ columns.T @ values
    left = values - columns @ fitted
    freedom = n - _COLUMNS
    squares = float(left @ left)
    variance = squares / freedom
    r = float(left[1:] @ left[:-1]) / squares + _COLUMNS / n if squares > 0 else 0.0
    r = min(max(r, 0.0), _MOST_CORRELATION)
    error2 = variance * float(inverse[0, 0]) * (1 + r) / (1 - r)
    m = variance / error2 if error2 > 0 else pairs / 2
    noise = math.sqrt(2 * variance)
    total = math.sqrt(error2 + spread**2)
    c = G / (G + m)
    q = math.exp(2 / (freedom + 1) * (math.log(alpha) + 0.5 * math.log(c)))
    radius = math.sqrt((1 - q) / (q - c) * freedom) * total if q > c else math.inf
    mean = float(fitted[0])
    ratio = (mean / total) ** 2 / freedom if total > 0 else math.inf if mean else 0.0
    log_e = 0.5 * math.log(c)
    log_e += (
        (freedom + 1) / 2 * (math.log((1 + ratio) / (1 + c * ratio)) if ratio < math.inf else -math.log(c))
    )
    return Interval(
        mean=mean,
        low=mean - radius,
        high=mean + radius,
        p=min(1.0, math.exp(-max(log_e, 0.0))),
        pairs=pairs,
        noise=noise,
    )


def widened(interval: Interval, drift: float) -> Interval:
    """The interval wider by what a drift within pairs could do; its p-value only where that leaves it."""
    if interval is UNKNOWN or not drift:
        return interval
    low, high = interval.low - drift, interval.high + drift
    keeps = low > 0 or high < 0 or interval.p >= 1
    return Interval(
        mean=interval.mean,
        low=low,
        high=high,
        p=interval.p if keeps else 1.0,
        pairs=interval.pairs,
        noise=interval.noise,
    )


def trend(values: Sequence[float]) -> float | None:
    """Slope a step where the values drift beyond chance, else None."""
    n = len(values)
    if n < _DRIFT_LEAST:
        return None
    slope, intercept = statistics.linear_regression(range(n), values)
    left = sum((value - intercept - slope * place) ** 2 for place, value in enumerate(values))
    error = math.sqrt(max(left, 0.0) / (n - 2) * 12 / (n * (n * n - 1)))
    return slope if abs(slope) > DRIFT_T * error and slope else None
