"""Baselines that the recommender must beat: random, popular default, most robust, nearest copied."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kg.nouns.entities import Configuration
from recommender.ranking.cases.ranker import Ranking

UNTRIED = math.log(10)
"""Log regret of a configuration that a problem's table does not have."""
LONGEST = 10
"""Longest list that is judged."""


def random_choice(truth: Sequence[float], k: int, within: float) -> tuple[float, float]:
    """Chance that one of k distinct random rows is within, and the expected least log regret of k."""
    ordered = np.sort(truth)
    n = len(ordered)
    k = min(k, n)
    good = int((ordered < within).sum())
    miss = math.prod((n - good - i) / (n - i) for i in range(k)) if n - good >= k else 0.0
    survive, expected = 1.0, 0.0
    for place, value in enumerate(ordered):
        # the least of k is at this place: none before it was drawn, and it is
        here = k / (n - place) if n - place > k else 1.0
        expected += survive * here * float(value)
        survive *= 1 - here
        if survive <= 0:
            break
    return 1 - miss, expected


def nearest_copied(ranking: Ranking, k: int) -> list[Configuration]:
    """The k best configurations of the nearest case that has times, best first."""
    evidence = ranking.evidence
    if not evidence.timed.any():
        return []
    ratios = evidence.ratios[int(np.argmax(evidence.timed))]
    best = np.argsort(ratios, kind="stable")[:k]
    return [evidence.candidates[int(place)] for place in best if np.isfinite(ratios[place])]


class Defaults:
    """Popular and robust choices over known problems of one family, by device count and question.

    Args:
        tables: Device count of each known problem, and the log ratio of each of its answers to its best.
    """

    def __init__(self, tables: Iterable[tuple[int | None, Mapping[Configuration, float]]]) -> None:
        wins: dict[int | None, Counter[Configuration]] = defaultdict(Counter)
        sums: dict[int | None, dict[Configuration, float]] = defaultdict(lambda: defaultdict(float))
        here: dict[int | None, Counter[Configuration]] = defaultdict(Counter)
        total: Counter[int | None] = Counter()
        for count, table in tables:
            if len(table) < 2:
                continue
            total[count] += 1
            wins[count][min(table, key=lambda item: (table[item], item.digest))] += 1
            for item, ratio in table.items():
                sums[count][item] += min(ratio, UNTRIED)
                here[count][item] += 1
        self._popular = {
            count: [item for item, _ in sorted(counter.items(), key=lambda x: (-x[1], x[0].digest))[:LONGEST]]
            for count, counter in wins.items()
        }
        self._robust: dict[int | None, list[Configuration]] = {}
        for count, of in sums.items():
            mean = {
                item: (s + UNTRIED * (total[count] - here[count][item])) / total[count]
                for item, s in of.items()
            }
            self._robust[count] = sorted(mean, key=lambda item: (mean[item], item.digest))[:LONGEST]

    def popular(self, count: int | None) -> list[Configuration]:
        """The configurations that are most often the best, at this device count."""
        return self._popular.get(count, [])

    def robust(self, count: int | None) -> list[Configuration]:
        """The configurations that lose least on average, at this device count."""
        return self._robust.get(count, [])
