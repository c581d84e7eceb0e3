"""The results of a search by configuration: repeats averaged, limits checked, the incumbent."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kg.nouns.entities import Limit, Objective
from recommender.search.evaluations import Evaluation, cost_of, value_of

_GAIN = 1e-9
"""Log cost by which a result must be better to count as a gain."""


class Tally:
    """The results of one search.

    Args:
        objectives: What decides.
        limits: Bounds on other metrics.

    Attributes:
        evaluations: All of them, in order.
        idle: Evaluations of new configurations since the last gain.
    """

    def __init__(self, *, objectives: tuple[Objective, ...], limits: tuple[Limit, ...]) -> None:
        self._objectives, self._limits = objectives, limits
        self.evaluations: list[Evaluation] = []
        self.idle = 0
        self._merged: dict[int, Evaluation] = {}
        self._failed: set[int] = set()
        self._again: set[str] = set()
        self._compared: tuple[list[Evaluation], NDArray[np.float64]] | None = None

    def add(self, evaluation: Evaluation, row: int) -> bool:
        """Add an evaluation of a pool row; True where it is a gain."""
        self.evaluations.append(evaluation)
        before = self._merged.get(row)
        new = before is None and row not in self._failed
        gain = new and self._is_gain(evaluation)
        self._compared = None
        if before is not None:
            self._again.add(evaluation.configuration.digest)
        if evaluation.ok:
            self._merged[row] = evaluation if before is None else self._averaged(before, evaluation)
        else:
            self._failed.add(row)
        if new:
            self.idle = 0 if gain else self.idle + 1
        return gain

    def has(self, row: int) -> bool:
        """True where a pool row was evaluated."""
        return row in self._merged or row in self._failed

    @property
    def has_run(self) -> bool:
        """True once a configuration has run."""
        return bool(self._merged)

    @property
    def best(self) -> float | None:
        """Log cost of the incumbent; None before there is one."""
        incumbent = self.incumbent
        return None if incumbent is None else self.costs(incumbent)[0]

    @property
    def incumbent(self) -> Evaluation | None:
        """The best by the first objective among those that keep the limits and never failed.

        Once two or more were measured again it is one of these: one that ran once beside them may be lucky.
        """
        kept, costs = self.comparable()
        again = [place for place, item in enumerate(kept) if item.configuration.digest in self._again]
        places = again if len(again) > 1 else range(len(kept))
        return min(((costs[place, 0], place, kept[place]) for place in places), default=(0, 0, None))[2]

    def comparable(self) -> tuple[list[Evaluation], NDArray[np.float64]]:
        """Configurations that keep the limits and have all objectives, with log costs, shape (n, m)."""
        if self._compared is None:
            self._compared = self._comparable()
        return self._compared

    def _comparable(self) -> tuple[list[Evaluation], NDArray[np.float64]]:
        kept = [
            e
            for row, e in self._merged.items()
            if row not in self._failed
            and self.keeps_limits(e)
            and all(value is not None for value in e.values[: len(self._objectives)])
            and len(e.values) >= len(self._objectives)
        ]
        costs = np.array([self.costs(e) for e in kept]).reshape(-1, len(self._objectives))
        return kept, costs

    def costs(self, evaluation: Evaluation) -> list[float]:
        """Log costs of an evaluation that has all objectives."""
        pairs = zip(evaluation.values, self._objectives, strict=False)
        return [math.inf if v is None else cost_of(v, o) for v, o in pairs]

    def keeps_limits(self, evaluation: Evaluation) -> bool:
        """True where all limits are known to be kept."""
        bounds = evaluation.values[len(self._objectives) :]
        return len(bounds) >= len(self._limits) and all(
            value is not None and value <= limit.maximum
            for value, limit in zip(bounds, self._limits, strict=False)
        )

    def finalists(self, n: int) -> list[int]:
        """Rows of the ``n`` best configurations, those measured least often first."""
        allowed = [
            (self.costs(e)[0], e.repeats, row)
            for row, e in self._merged.items()
            if row not in self._failed and self.keeps_limits(e)
        ]
        best = sorted(allowed)[:n]
        return [row for _, _, row in sorted(best, key=lambda item: (item[1], item[0]))]

    def _is_gain(self, evaluation: Evaluation) -> bool:
        if not evaluation.ok or not self.keeps_limits(evaluation):
            return False
        kept, costs = self.comparable()
        new = np.array(self.costs(evaluation))
        return not kept or not (costs <= new + _GAIN).all(axis=1).any()

    def _averaged(self, a: Evaluation, b: Evaluation) -> Evaluation:
        """Two evaluations of one configuration as one: objectives geometrically, limits by the worse."""
        count, values = a.repeats + b.repeats, []
        for place, (left, right) in enumerate(zip(a.values, b.values, strict=False)):
            if left is None or right is None:
                values.append(left if right is None else right)
            elif place < len(self._objectives):
                objective = self._objectives[place]
                both = a.repeats * cost_of(left, objective) + b.repeats * cost_of(right, objective)
                values.append(value_of(both / count, objective))
            else:
                values.append(max(left, right))
        return replace(a, values=tuple(values), repeats=count, stdev=None)
