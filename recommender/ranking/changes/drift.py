"""Drift of effects: the change point in dated gains, and the gains since then.

y[1..m]: the newest dated gains of an effect, oldest first, in nats; before them n0 gains of mean y0.
s: standard deviation of one gain, from the differences of neighbours, which a shift hardly touches.

A split k has the likelihood ratio statistic ``n1 n2 / (n1 + n2) * (mean1 - mean2)**2 / s**2`` (Gaussian
shift in mean; Page's problem in the form of Siegmund and Venkatraman, Ann. Statist. 23, 1995). The largest
over all splits is held against a threshold; what is after the split is looked through again.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from kg.nouns.effects import UNATS_PER_NAT, Effect

THRESHOLD = 20.0
"""Threshold of the statistic. ``benchmarks/learning/season.py`` measures how often a series of 200 gains
without a change passes it when looked at after every one, and how many gains it takes to see a change."""

LEAST = 3
"""Gains on either side of a change at least: one or two odd ones are no drift."""

LEAST_NOISE = 0.01
"""Standard deviation of one gain at least, in nats: repeats of one measurement differ by 1 to 3 %."""

ENOUGH = 8
"""Dated gains before the noise of one can be told well enough to call anything a change."""

MOST_ODD = 2.0
"""Standard deviations by which a gain may stand off the median of itself and its two neighbours: what is
beyond is cut off, so that a single wild gain makes no change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """A change point.

    Attributes:
        since: When the first gain after it came in.
        before: Mean gain before it, in nats.
        after: Mean gain since, in nats.
        gains: The gains since, in nats.
    """

    since: datetime
    before: float
    after: float
    gains: tuple[float, ...]

    @property
    def text(self) -> str:
        """The change in a few words."""
        return (
            f"drifted: {math.exp(self.before):.2f}x before {self.since:%Y-%m-%d}, "
            f"{math.exp(self.after):.2f}x since (n={len(self.gains)})"
        )


def change(effect: Effect) -> ChangePoint | None:
    """Return the newest change point of an effect; None if its gains look like one regime."""
    if len(effect.recent) < ENOUGH:
        return None
    recent = [item.unats / UNATS_PER_NAT for item in effect.recent]
    old = effect.n - len(recent)
    before = (effect.sum_unats - sum(item.unats for item in effect.recent)) / UNATS_PER_NAT
    noise = _noise(recent)
    calm = _without_odd(recent, noise)
    start, point = 0, None
    while True:
        split = _split(calm[start:], old, before, noise)
        if split is None:
            return point
        place, mean = split
        start += place
        point = ChangePoint(
            since=effect.recent[start].time,
            before=mean,
            after=statistics.fmean(recent[start:]),
            gains=tuple(recent[start:]),
        )
        old, before = 0, 0.0


def _split(gains: Sequence[float], old: int, before: float, noise: float) -> tuple[int, float] | None:
    """Return the place of the best split that passes the threshold, and the mean before it."""
    best, place, mean_before = THRESHOLD, -1, 0.0
    left, right = before, sum(gains)
    for k in range(len(gains) + 1):
        n1, n2 = old + k, len(gains) - k
        if n1 >= LEAST and n2 >= LEAST:
            statistic = n1 * n2 / (n1 + n2) * (left / n1 - right / n2) ** 2 / noise**2
            if statistic > best:
                best, place, mean_before = statistic, k, left / n1
        if k < len(gains):
            left += gains[k]
            right -= gains[k]
    return None if place < 0 else (place, mean_before)


def _noise(gains: Sequence[float]) -> float:
    """Estimate noise from squared differences of neighbours, without the largest: it may be the change."""
    squares = sorted((one - other) ** 2 for one, other in pairwise(gains))[:-1]
    few = 1 + 3 / len(squares)
    return max(LEAST_NOISE, few * math.sqrt(statistics.fmean(squares) / 2))


def _without_odd(gains: Sequence[float], noise: float) -> list[float]:
    calm = []
    for place, gain in enumerate(gains):
        middle = statistics.median(gains[max(0, min(place - 1, len(gains) - 3)) :][:3])
        calm.append(min(max(gain, middle - MOST_ODD * noise), middle + MOST_ODD * noise))
    return calm
