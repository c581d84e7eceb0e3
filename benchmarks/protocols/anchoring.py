"""Fitting of anchors: how strong effects are, how wide intervals must be, by leaving measured steps out."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kg.nouns.gain import NORMAL_90
from recommender.cost_model.anchors import (
    EFFECTS,
    OF_SITES,
    Anchors,
    LeftOutErrors,
    MeasuredStep,
    kind_of,
    sharing,
    solved,
)

Floats = NDArray[np.float64]

STRENGTHS = (0.05, 0.1, 0.2, 0.35)
"""Standard deviations of the effects that are tried."""
NOISES = (0.15, 0.3)
DEFAULT = (0.15, 0.25)
"""Strength, and noise, where fewer steps than ``LEAST_STEPS`` were measured."""
LEAST_STEPS = 5
UNKNOWN_WIDENING = 1.3
"""Factor of the expected deviation where fewer were measured than would tell."""
SHRINKAGE = 5.0
"""Models that all kinds together count for in the width of one: steps of one model are off alike."""


def fit_anchors(steps: Sequence[MeasuredStep]) -> Anchors:
    """Anchors from measured steps: the strengths with the least error on sources left out, each in turn."""
    ratios = np.array([step.log_ratio for step in steps])
    same = {name: matrix for name, matrix in sharing(steps).items() if name not in OF_SITES}
    groups = places_of([step.source for step in steps])
    enough = len(groups) >= LEAST_STEPS
    tried = itertools.product(STRENGTHS, NOISES) if enough else [DEFAULT]
    best: tuple[float, dict[str, float], LeftOutErrors] | None = None
    for strength, noise in tried:
        deviations = {name: strength for name in EFFECTS if name not in OF_SITES}
        covariance = np.asarray(sum(deviations[name] ** 2 * matrix for name, matrix in same.items()))
        off, deviation = left_out(covariance, ratios, noise, groups)
        error = float(np.mean(np.abs(off)))
        if best is None or error < best[0]:
            errors = left_out_errors(steps, off, deviation, deviations, enough=enough)
            engines = places_of([f"{step.key.phase} {step.key.engine}" for step in steps])
            if enough and len(engines) > 1:
                of_engines, _ = left_out(covariance, ratios, noise, engines)
                errors = replace(errors, of_new_engines=nine_tenths(of_engines))
            best = error, {**deviations, **OF_SITES, "noise": noise}, errors
    if best is None:
        return Anchors()
    return Anchors(steps=tuple(steps), deviations=best[1], errors=best[2])


def places_of(names: Sequence[str]) -> list[NDArray[np.intp]]:
    """Places of each name, the names sorted."""
    _, codes = np.unique(names, return_inverse=True)
    return [np.flatnonzero(codes == code) for code in range(int(codes.max(initial=-1)) + 1)]


def left_out_errors(
    steps: Sequence[MeasuredStep],
    off: Floats,
    deviation: Floats,
    deviations: Mapping[str, float],
    *,
    enough: bool = True,
) -> LeftOutErrors:
    """Errors of steps, by kind, each kind drawn towards all of them.

    The deviations that effects make expect do not tell which steps will be far off (scaled by them, the same
    coverage takes intervals a fifth wider), so widths are quantiles of the plain errors.

    Args:
        steps: The steps.
        off: Error of each when its source is left out.
        deviation: What was expected of it, from the effects that are stated.
        deviations: Of each effect; what a step does not state varies as well.
        enough: Whether there are enough of them for a quantile.
    """
    unstated = [
        sum(value**2 for name, value in deviations.items() if step.key.effect(name) is None) for step in steps
    ]
    variance = float(np.mean(np.square(deviation) + unstated))
    if not enough:
        return LeftOutErrors(overall=UNKNOWN_WIDENING * math.sqrt(variance), variance=variance)
    overall, kinds = nine_tenths(off), np.array([kind_of(step.key) for step in steps])
    by_kind = {}
    for kind in np.unique(kinds):
        models = len({step.key.model for step, its in zip(steps, kinds, strict=True) if its == kind})
        logs = math.log(nine_tenths(off[kinds == kind])), math.log(overall)
        by_kind[str(kind)] = math.exp((models * logs[0] + SHRINKAGE * logs[1]) / (models + SHRINKAGE))
    return LeftOutErrors(by_kind=by_kind, overall=overall, variance=variance)


def nine_tenths(off: Floats) -> float:
    """Standard deviation within 1.645 of which nine tenths of errors lie, and of one more to come."""
    level = min(0.9 * (1 + 1 / len(off)), 1.0)
    return max(float(np.quantile(np.abs(off), level)) / NORMAL_90, LEAST_SPREAD)


LEAST_SPREAD = 0.05
"""Few alike may all be right by chance; instruments alone differ by some per cent."""


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
