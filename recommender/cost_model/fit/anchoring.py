"""Fitting of anchors: how strong each effect is and how wide intervals must be, from measured steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recommender.cost_model.anchors import EFFECTS, OF_SITES, Anchors, MeasuredStep, sharing, solved

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Floats = NDArray[np.float64]

TYPICAL = 0.15
"""Mean of the exponential prior of a standard deviation: most effects are small, some are not."""
DRAWS = 300
"""Draws from the prior over which deviations are averaged, each as likely as it makes the steps."""
LEAST_STEPS = 5
"""Steps from which the width of intervals is checked by leaving each out."""
UNKNOWN_WIDENING = 1.3


def fit_anchors(steps: Sequence[MeasuredStep], *, site: str = "") -> Anchors:
    """Anchors from measured steps: strengths of effects by their likelihood, width by leaving steps out."""
    deviations = fit_deviations(steps)
    return Anchors(steps=tuple(steps), deviations=deviations, widening=widening(steps, deviations), site=site)


def fit_deviations(steps: Sequence[MeasuredStep]) -> dict[str, float]:
    """The standard deviations of effects and noise: their mean after the steps were seen."""
    ratios = np.array([step.log_ratio for step in steps])
    same = sharing(steps)
    names = [*EFFECTS, "noise"]
    drawn = np.random.default_rng(0).exponential(TYPICAL, (DRAWS, len(names)))
    drawn[:, names.index("noise")] += LEAST_NOISE
    for name, deviation in OF_SITES.items():
        drawn[:, names.index(name)] = deviation
    likelihoods = np.array(
        [_likelihood(same, ratios, dict(zip(names, map(float, row), strict=True))) for row in drawn]
    )
    weights = np.exp(likelihoods - np.max(likelihoods))
    mean = np.exp(weights @ np.log(np.maximum(drawn, 1e-3)) / np.sum(weights))
    return dict(zip(names, map(float, mean), strict=True))


LEAST_NOISE = 0.03
"""Repeats of a run differ by some three per cent at least."""


def _likelihood(same: Mapping[str, Floats], ratios: Floats, deviations: Mapping[str, float]) -> float:
    """Log likelihood of the steps, up to a constant."""
    covariance = sum(deviations[name] ** 2 * matrix for name, matrix in same.items())
    noise = deviations["noise"]
    inverse, weights = solved(np.asarray(covariance), ratios, noise)
    _, size = np.linalg.slogdet(inverse)
    # weights are what the gamma mixture of a t distribution has at its mode; they cost their own density
    tails = float(np.sum(np.log(weights) - weights)) * TAIL_SHARE
    return float(0.5 * size - 0.5 * (ratios @ inverse @ ratios) + tails)


TAIL_SHARE = 2.0
"""Half the degrees of freedom of the noise."""


def widening(steps: Sequence[MeasuredStep], deviations: Mapping[str, float]) -> float:
    """Factor of the spread with which 90 % intervals hold nine tenths of the steps, each left out in turn."""
    if len(steps) < LEAST_STEPS:
        return UNKNOWN_WIDENING
    ratios = np.array([step.log_ratio for step in steps])
    covariance = np.asarray(sum(deviations[name] ** 2 * matrix for name, matrix in sharing(steps).items()))
    noise = deviations["noise"]
    inverse, weights = solved(covariance, ratios, noise)
    own = 1 / np.diag(inverse)
    off = (inverse @ ratios) * own
    deviation = np.sqrt(np.maximum(own - noise**2 / weights + noise**2, noise**2))
    level = min(0.9 * (1 + 1 / len(steps)), 1.0)
    return float(np.quantile(np.abs(off / deviation), level) / NORMAL_90)


NORMAL_90 = 1.645
