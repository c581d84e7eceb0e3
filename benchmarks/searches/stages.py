"""The founding documents' policy of a search: explore, exploit, refine; ours is beside it in ``staged_search.py``.

Explore proposes what is farthest from all that was evaluated (after the sources' best and the default), exploit
what our search proposes, refine the neighbours of the best that promise most. When a stage ends is a rule: thirds
of a budget, as the documents have it, or a number of evaluations without gain.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recommender.search.engine.search import DESIGN, Search
from recommender.search.evaluations import Origin

FRUITLESS = 10
"""Evaluations without gain that end a stage: the patience of the documents' refinement."""

FEW = 4
"""The same for exploring; a choice: as many as our search begins with."""


@dataclass(frozen=True)
class Rule:
    """When stages change.

    Attributes:
        budget: Evaluations of which each stage has a third; 0 where progress decides.
        explores: Whether there is a first stage beyond the four with which our search begins.
        chance: Whether those four are random.
    """

    budget: int = 0
    explores: bool = True
    chance: bool = False


RULES = {
    "thirds_of_30": Rule(budget=30),
    "progress": Rule(),
    "refine_only": Rule(explores=False),
    "random_start": Rule(explores=False, chance=True),
}


class Staged(Search):
    """A search in three stages."""

    def __init__(self, *, rule: Rule, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._stages = rule
        self._stage = "explore" if rule.explores else "exploit"
        self._since = 0

    def _next(self) -> tuple[int, Origin] | None:
        count = len(self._tally.evaluations)
        stage = self._stage_now(count)
        waiting = any(self._pool.open[row] for row, _ in self._first)
        if self._stages.chance and not (waiting or self._sources) and count < DESIGN:
            rng = np.random.default_rng([self._seed, 2, count])
            return int(rng.choice(np.flatnonzero(self._pool.open))), "random"
        if waiting or stage == "exploit" or not self._tally.ran:
            return super()._next()
        if stage == "explore":
            return self._pool.farthest(), "spread"
        row = self._nearest()
        return super()._next() if row is None else (row, "model")

    def _stage_now(self, count: int) -> str:
        if self._stages.chance:
            return "exploit"
        if self._stages.budget:
            return ("explore", "exploit", "refine", "refine")[min(3 * count // self._stages.budget, 3)]
        idle = min(self._tally.idle, count - self._since)
        explores = self._stage == "explore"
        done = idle >= (FEW if explores else FRUITLESS) and count >= DESIGN
        if done:
            self._stage = "refine" if self._stage == "exploit" else "exploit"
            self._since = count
        return self._stage

    def _nearest(self) -> int | None:
        """The open neighbour of the best, a parameter away if there is one, that promises most."""
        best = self._tally.incumbent
        if best is None:
            return None
        u = self.space.encode([best.configuration])[0]
        if len(self._pool.reserve):
            self._grow(self._pool.reserve[_differing(self._pool.reserve, u) <= 1], proposable=True)
        least = self._tally.best
        assert least is not None  # a search refines what ran
        promise = self._beliefs.objectives[0].log_improvement(least) + self._beliefs.log_allowed()
        differing = _differing(self._pool.u, u)
        for most in (1, 2):
            near = np.flatnonzero(self._pool.open & (differing <= most))
            if len(near):
                return int(near[np.argmax(promise[near])])
        return None


def _differing(points: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
    """In how many parameters each point differs, shape (n,)."""
    return np.asarray((~np.isclose(points, u, equal_nan=True)).sum(axis=1), float)
