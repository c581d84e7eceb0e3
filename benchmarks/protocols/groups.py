"""Choices made without the group that is asked, and standard errors over groups.

A figure that is to hold for a new device, vendor, kernel, family, document or corpus is computed with that group
left out, its error is the spread over groups, and whatever was chosen by looking at results is chosen again
without the group that is asked.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Choice = TypeVar("Choice")


@dataclass(frozen=True, slots=True)
class Nested(Generic[Choice]):
    """The value of a choice made by looking at results, where nobody looked.

    Attributes:
        chosen: The choice by all groups.
        inside: Its mean loss over the groups it was chosen on: it flatters.
        outside: Mean loss where each group has the choice of the other groups.
        by_group: That choice, and the group's loss with it.
    """

    chosen: Choice
    inside: float
    outside: float
    by_group: Mapping[str, tuple[Choice, float]]


def nested(losses: Mapping[str, Mapping[Choice, Sequence[float]]]) -> Nested[Choice]:
    """Choose by the least mean loss, with every group left out in turn.

    Args:
        losses: By group and choice, one loss a question; each group has every choice. The mean is over questions,
            so a large group counts for more.

    Raises:
        ValueError: There are fewer than two groups: nothing is left to choose by.
    """
    if len(losses) < 2:
        raise ValueError(f"nothing to choose by without the asked group: {sorted(losses)}")
    choices = list(next(iter(losses.values())))

    def best(groups: Sequence[str]) -> Choice:
        return min(choices, key=lambda choice: _mean([x for name in groups for x in losses[name][choice]]))

    chosen = best(list(losses))
    by_group: dict[str, tuple[Choice, float]] = {}
    outside: list[float] = []
    for name in losses:
        choice = best([other for other in losses if other != name])
        by_group[name] = (choice, _mean(losses[name][choice]))
        outside += losses[name][choice]
    inside = _mean([x for name in losses for x in losses[name][chosen]])
    return Nested(chosen, inside, _mean(outside), by_group)


def standard_error(values: Sequence[float], groups: Sequence[str]) -> float | None:
    """Standard error of the mean of values that are alike within groups; None with fewer than two groups.

    The cluster-robust one of a mean: ``sqrt(G / (G - 1) * sum of squared group sums of residuals) / n``.

    Source:
        Cameron and Miller, A Practitioner's Guide to Cluster-Robust Inference, 2015.
    """
    mean = _mean(values)
    sums: dict[str, float] = defaultdict(float)
    for value, group in zip(values, groups, strict=True):
        sums[group] += value - mean
    count = len(sums)
    if count < 2:
        return None
    return math.sqrt(count / (count - 1) * sum(item**2 for item in sums.values())) / len(values)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
