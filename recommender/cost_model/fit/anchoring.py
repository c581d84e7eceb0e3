"""Fitting of anchors: how strong effects are, how wide intervals must be, by leaving measured steps out."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kg.nouns.gain import NORMAL_90
from recommender.cost_model.anchors import EFFECTS, OF_SITES, Anchors, MeasuredStep, sharing, solved

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = NDArray[np.float64]

STRENGTHS = (0.05, 0.1, 0.2, 0.35)
"""Standard deviations that are tried: one of the effect of a model, one of all other effects."""
NOISES = (0.15, 0.3)
DEFAULT = (0.15, 0.15, 0.25)
"""Strengths, and noise, where fewer steps than ``LEAST_STEPS`` were measured."""
LEAST_STEPS = 5
UNKNOWN_WIDENING = 1.3


def fit_anchors(steps: Sequence[MeasuredStep]) -> Anchors:
    """Anchors from measured steps: the strengths with the least error on sources left out, each in turn."""
    ratios = np.array([step.log_ratio for step in steps])
    same = {name: matrix for name, matrix in sharing(steps).items() if name not in OF_SITES}
    _, codes = np.unique([step.source for step in steps], return_inverse=True)
    groups = [np.flatnonzero(codes == code) for code in range(int(codes.max(initial=-1)) + 1)]
    enough = len(groups) >= LEAST_STEPS
    tried = itertools.product(STRENGTHS, STRENGTHS, NOISES) if enough else [DEFAULT]
    best: tuple[float, dict[str, float], float] | None = None
    for others, model, noise in tried:
        deviations = {name: model if name == "model" else others for name in EFFECTS if name not in OF_SITES}
        covariance = np.asarray(sum(deviations[name] ** 2 * matrix for name, matrix in same.items()))
        off, deviation = left_out(covariance, ratios, noise, groups)
        error = float(np.mean(np.abs(off)))
        if best is None or error < best[0]:
            level = min(0.9 * (1 + 1 / len(steps)), 1.0)
            wide = float(np.quantile(np.abs(off) / deviation, level)) / NORMAL_90
            best = error, {**deviations, **OF_SITES, "noise": noise}, wide if enough else UNKNOWN_WIDENING
    if best is None:
        return Anchors()
    return Anchors(steps=tuple(steps), deviations=best[1], widening=best[2])


def left_out(
    covariance: Floats, ratios: Floats, noise: float, groups: Sequence[NDArray[np.intp]]
) -> tuple[Floats, Floats]:
    """Error of every step when its group is left out, and the standard deviation that was expected of it."""
    inverse, weights = solved(covariance, ratios, noise)
    pulled = inverse @ ratios
    off, variance = np.empty(len(ratios)), np.empty(len(ratios))
    for group in groups:
        own = np.linalg.inv(inverse[np.ix_(group, group)])
        off[group] = own @ pulled[group]
        variance[group] = np.diag(own) - noise**2 / weights[group] + noise**2
    return off, np.sqrt(np.maximum(variance, noise**2))
