"""Scales of errors of the cost model over measured runs, fitted to some models and not to others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from recommender.cost_model.measured.correction import SCALES, ErrorScales
from recommender.ranking.measured.measured_run import MeasuredRun

BLOCK, BLOCKS = 260, 6
"""Runs whose likelihood is taken together, and how many such draws a fit sees."""
STEPS = 300
"""Steps of the simplex search of a fit."""


def fitted(runs: Mapping[str, Sequence[MeasuredRun]]) -> ErrorScales:
    """The scales of greatest likelihood; the shipped ones where there are too few runs."""
    from scipy.optimize import minimize

    drawn = [(model, run) for model, found in sorted(runs.items()) for run in found]
    if len(drawn) < BLOCK:
        return SCALES
    order = np.random.default_rng(1).permutation(len(drawn))
    starts = range(0, min(len(drawn), BLOCK * BLOCKS), BLOCK)
    blocks = [[drawn[at] for at in order[place : place + BLOCK]] for place in starts]
    names = [name for name in ErrorScales.__dataclass_fields__ if name != "noise"]

    def lost(logs: Any) -> float:
        scales = replace(SCALES, **dict(zip(names, np.exp(logs).tolist(), strict=True)))
        total, number = 0.0, 0
        for block in blocks:
            models = np.array([model for model, _ in block])
            members = [run for _, run in block]
            ratios = np.array([run.log_ratio for run in members])
            covariance = scales.among(members) * (models[:, None] == models[None, :])
            total += 0.5 * float(np.linalg.slogdet(covariance)[1])
            total += 0.5 * float(ratios @ np.linalg.solve(covariance, ratios))
            number += len(block)
        return total / number

    begin = np.log([getattr(SCALES, name) for name in names])
    found = minimize(lost, begin, method="Nelder-Mead", options={"maxiter": STEPS, "adaptive": True})
    values = dict(zip(names, (round(float(value), 3) for value in np.exp(found.x)), strict=True))
    return replace(SCALES, **values)
