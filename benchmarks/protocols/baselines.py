"""What the recommender must beat: random, the popular default, the most robust, the nearest copied."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np

UNTRIED = math.log(10)
LONGEST = 10
"""Longest list that is judged."""


def random_choice(truth: list[float], k: int, within: float) -> tuple[float, float]:
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


class Defaults:
    """Popular and robust choices over known problems of one family, by device count and question."""

    def __init__(self, tables) -> None:
        """Take known (count, answer to log ratio) tables."""
        wins: dict[int | None, Counter] = defaultdict(Counter)
        sums: dict[int | None, dict] = defaultdict(lambda: defaultdict(float))
        here: dict[int | None, Counter] = defaultdict(Counter)
        total: Counter = Counter()
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
        self._robust = {}
        for count, of in sums.items():
            mean = {
                item: (s + UNTRIED * (total[count] - here[count][item])) / total[count]
                for item, s in of.items()
            }
            self._robust[count] = sorted(mean, key=lambda item: (mean[item], item.digest))[:LONGEST]

    def popular(self, count):
        return self._popular.get(count, [])

    def robust(self, count):
        return self._robust.get(count, [])
