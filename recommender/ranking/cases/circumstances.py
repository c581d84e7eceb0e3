"""The quality of an answer's evidence, in numbers that grow with distance, scarcity and dispute."""

import math

import numpy as np
from numpy.typing import NDArray

from kg.triples.hardware_tree import Distance
from recommender.ranking.cases.ranker import Ranking
from recommender.ranking.cases.reference import Reference

STEPS = tuple(distance for distance in Distance if distance > Distance.SAME_DEVICE)

MANY_FROM = (Distance.SAME_VENDOR, Distance.OTHER_VENDOR)
"""Distances from which the number of candidates counts more: the best of a foreign device is seldom good
among thousands, and often among a dozen."""

CIRCUMSTANCES = (
    "parts disagree",
    "sources disagree on the range",
    "sources differ in range",
    "distance of the task",
    "another task",
    "few sources",
    "few devices",
    "expected regret",
    "much is at stake",
    "many candidates",
    *(f"{distance.name.lower().replace('_', ' ')} or farther" for distance in STEPS),
    *(f"many candidates, {distance.name.lower().replace('_', ' ')} or farther" for distance in MANY_FROM),
)
"""Names of the columns. The sizes are natural logs of nats, counts and distances as they are."""

_FARTHEST = 3.0
"""Distance of tasks beyond which farther is no worse."""

_REGRET_FLOOR, _RANGE_FLOOR = 0.02, 0.05
"""Added before a logarithm is taken, in nats: 2 % is the noise of a measurement, 5 % what counts as right."""


def circumstances(ranking: Ranking, place: int, reference: Reference) -> NDArray[np.float64]:
    """Return the circumstances of one recommendation, shape (len(CIRCUMSTANCES),).

    Args:
        ranking: The answer of the cases; it has a timed source.
        place: Place in ``ranking.scores`` of the recommendation.
        reference: What its gain is against.
    """
    evidence, scores = ranking.evidence, ranking.scores
    timed = np.flatnonzero(evidence.timed & (scores.weights > 0))
    leading = evidence.sources[int(timed[np.argmax(scores.weights[timed])])]
    devices = {evidence.sources[row].problem.measured_on for row in timed.tolist()}
    distance = Distance.OTHER_VENDOR if ranking.distance is None else ranking.distance
    many = math.log(len(evidence.candidates))
    return np.array(
        [
            math.log(float(scores.spread[place]) + _REGRET_FLOOR),
            math.log(reference.dispersion + _REGRET_FLOOR),
            math.log(reference.variety + _REGRET_FLOOR),
            min(leading.apart, _FARTHEST),
            float(not leading.same_task),
            -math.log(len(timed)),
            -math.log(len(devices)),
            math.log(max(0.0, float(scores.expected[place])) + _REGRET_FLOOR),
            math.log(max(0.0, reference.expected) + _RANGE_FLOOR),
            many,
            *(float(distance >= step) for step in STEPS),
            *(many * (distance >= step) for step in MANY_FROM),
        ]
    )
