"""A ranking beside the truth, where that is known."""

import math
from collections.abc import Mapping

import numpy as np

from kg.nouns.entities import Configuration, Problem
from recommender.calibration.outlook import LISTED, Checked
from recommender.ranking.cases.circumstances import circumstances
from recommender.ranking.cases.ranker import Ranking
from recommender.ranking.cases.reference import median, reference_of


def check(problem: Problem, ranking: Ranking, truth: Mapping[Configuration, float]) -> Checked | None:
    """Return the expected and the true gain of a ranking; None if it expected nothing.

    Gains are over the median of what is compared: of the sources' tables as expected, of the true table.

    Args:
        problem: The question; its current configuration is not looked at.
        ranking: The answer to it.
        truth: True log regret of the configurations that were measured.
    """
    reference = reference_of(problem, ranking)
    if reference is None or ranking.distance is None or not ranking.order or not truth:
        return None
    listed = [truth.get(configuration, math.nan) for configuration in ranking.configurations]
    first = ranking.order[0]
    middle = median(np.fromiter(truth.values(), float, len(truth)))
    regrets = []
    for k in LISTED:
        measured = [value for value in listed[:k] if math.isfinite(value)]
        regrets.append(min(measured, default=math.nan))
    return Checked(
        operator=problem.workload.operator,
        device=problem.hardware.name,
        distance=ranking.distance,
        row=circumstances(ranking, first, reference),
        gain=reference.expected - float(ranking.scores.expected[first]),
        truth=middle - listed[0],
        regrets=tuple(regrets),
    )
