"""The anytime-valid mixture t: an interval and a p-value that may be looked at after every pair.

d[i]: log ratio of pair i, in nats, above zero if the treatment is better; shape (..., n).
n: pairs so far; m, s: their mean and standard deviation; r: lag-one autocorrelation; G: the prior's weight.

    e[n] = sqrt(G / (G + n)) * (1 - n / (G + n) * q) ** (-n / 2),   q = t**2 / (t**2 + n - 1)

is the Bayes factor of "some effect" (a normal prior on m / s with variance 1 / G, right-Haar on s) against
"none". Under no effect, ``P(e[n] >= 1 / alpha at any n) <= alpha`` for normal d; all effects with
``e < 1 / alpha`` are the interval. With the order drawn for each pair, d is symmetric about the effect given
its size whatever drift or correlated noise the runs have, so the promise does not rest on runs being
independent; how closely it holds is measured by ``benchmarks/learning/ab_validity.py``.

Source:
    Lindon, Ham, Tingley, Bojinov, Anytime-Valid Linear Models and Regression Adjusted Causal Inference in
    Randomized Experiments, arXiv 2210.08589 (2022), theorem 2 for a single coefficient.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

G = 1.0
"""Weight of the prior, in pairs. A choice among 0.5 to 16: at 2 % noise it decides a gain of 3 % soonest, and
one of 1 % within a tenth of the soonest."""

_MOST_CORRELATION = 0.95
"""Above this the inflation would say more than a lag-one estimate can; a choice."""

_TINY = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """The interval and p-value after each pair.

    Attributes:
        mean: Mean log ratio, shape (..., n).
        low: Lower ends of the interval, the highest so far: what was excluded once stays excluded.
        high: Upper ends, the lowest so far.
        p: P-value of "no effect", the lowest so far.
        is_torn: Whether the ends have crossed: the effect moved while it was measured. Then ``low`` and
            ``high`` are those of this moment alone.
        inflation: By how much the variance was widened for correlated pairs, at least 1.
    """

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p: NDArray[np.float64]
    is_torn: NDArray[np.bool_]
    inflation: NDArray[np.float64]


def least_pairs(alpha: float) -> int:
    """Pairs before anything is said: n coins that choose the order cannot promise less than 2**(1 - n)."""
    return 1 + math.ceil(math.log2(1 / alpha))


def watch(differences: NDArray[np.float64], alpha: float) -> Track:
    """The interval and the p-value after each pair.

    Args:
        differences: Log ratios, shape (..., n), n at least 1.
        alpha: Chance of ever excluding the truth.
    """
    n = np.arange(1, differences.shape[-1] + 1)
    mean, square, inflation = _moments(differences, n)
    early = n < least_pairs(alpha)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        within = np.maximum(square - n * mean * mean, 0.0) * inflation
        share = n * mean * mean / np.maximum(n * mean * mean + within, _TINY)
        log_e = 0.5 * np.log(G / (G + n)) - n / 2 * np.log1p(-n / (G + n) * share)
        reach = _share_at(n, alpha)  # the share at which e is 1 / alpha
        radius = np.sqrt(within * reach / ((1 - reach) * n))
    radius = np.where(early | (reach >= 1), np.inf, radius)
    p = np.minimum.accumulate(np.where(early, 1.0, np.minimum(1.0, np.exp(-np.maximum(log_e, 0)))), axis=-1)
    low = np.maximum.accumulate(mean - radius, axis=-1)
    high = np.minimum.accumulate(mean + radius, axis=-1)
    torn = low > high
    return Track(
        mean=mean,
        low=np.where(torn, mean - radius, low),
        high=np.where(torn, mean + radius, high),
        p=p,
        is_torn=torn,
        inflation=inflation,
    )


def pairs_needed(effect: float, noise: float, alpha: float, *, most: int = 100_000) -> int | None:
    """Pairs after which an effect of typical luck is told from none; None beyond ``most``.

    Args:
        effect: Log ratio.
        noise: Standard deviation of the log ratios of pairs.
        alpha: As in ``watch``.
        most: Where to stop counting.
    """
    share = effect**2 / max(effect**2 + noise**2, _TINY)
    return _first(lambda n: np.asarray(share > _share_at(n, alpha)), alpha, most)


def pairs_to_equivalence(
    effect: float, noise: float, margin: float, alpha: float, *, most: int = 100_000
) -> int | None:
    """Pairs after which the interval of a small effect lies within plus and minus ``margin``."""
    room = margin - abs(effect)
    if room <= 0:
        return None

    def fits(n: NDArray[np.int64]) -> NDArray[np.bool_]:
        reach = np.minimum(_share_at(n, alpha), 1 - 1e-12)
        return np.asarray(noise * np.sqrt(reach / (1 - reach)) <= room)

    return _first(fits, alpha, most)


def _first(holds: Callable[[NDArray[np.int64]], NDArray[np.bool_]], alpha: float, most: int) -> int | None:
    n = np.arange(least_pairs(alpha), most + 1)
    found = np.flatnonzero(holds(n))
    return int(n[found[0]]) if len(found) else None


def _share_at(n: NDArray[np.int64], alpha: float) -> NDArray[np.float64]:
    """The share of the squares that the mean must hold for the evidence to reach ``1 / alpha``."""
    return np.asarray((1 - np.exp(2 / n * (math.log(alpha) + 0.5 * np.log(G / (G + n))))) * (G + n) / n)


def _moments(
    d: NDArray[np.float64], n: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mean, sum of squares and inflation after each pair.

    The variance is widened by ``(1 + r) / (1 - r)``, that of the mean of an AR(1) series, where the estimate
    of r, freed of its bias of ``-1 / n``, is positive. It is never narrowed.
    """
    total, square = np.cumsum(d, axis=-1), np.cumsum(d * d, axis=-1)
    mean = total / n
    lagged = np.zeros_like(d)
    lagged[..., 1:] = np.cumsum(d[..., 1:] * d[..., :-1], axis=-1)
    covariance = lagged - mean * (2 * total - d[..., :1] - d) + (n - 1) * mean * mean
    within = np.maximum(square - n * mean * mean, _TINY)
    r = np.clip(covariance / within + 1 / n, 0.0, _MOST_CORRELATION)
    return mean, square, (1 + r) / (1 - r)
