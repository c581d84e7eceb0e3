"""Beliefs of a policy during a season: the product's own effects, and posterior."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
from numpy.typing import NDArray

from kg.nouns.effects import Context, DatedGain, Effect, to_unats
from kg.nouns.entities import Kind, Trust
from kg.nouns.gain import Gain
from kg.triples.hardware_tree import HardwareTree
from recommender.ranking.changes.posterior import (
    EQUAL,
    KIND_TRUST,
    SHARED_LEVELS,
    Components,
    ObservedEffect,
    posterior,
)
from recommender.ranking.changes.prior import Prior, effect_state

START = datetime(2026, 1, 1, tzinfo=UTC)
NEAREST = 40
"""Contexts of a strategy that are asked, those that share most first: a question costs their number cubed."""
REFIT = 25
"""Outcomes between two estimates of the prior."""


@dataclass
class Beliefs:
    """Effects and what follows from them."""

    tree: HardwareTree
    components: Components = EQUAL
    effects: dict[tuple[str, Context, Kind, Trust], Effect] = field(default_factory=dict)
    outcomes: int = 0
    fixed: Prior | None = None

    def __post_init__(self) -> None:
        self.distance = cache(self.tree.distance)
        self._prior: tuple[int, Prior] | None = None
        self._of: dict[str, list[tuple[str, Context, Kind, Trust]]] = {}
        for key in self.effects:
            self._of.setdefault(key[0], []).append(key)

    def copy(self) -> Beliefs:
        return Beliefs(self.tree, self.components, dict(self.effects), self.outcomes, self.fixed)

    def tell(
        self,
        strategy: str,
        context: Context,
        gain: float,
        kind: Kind = Kind.MEASURED,
        trust: Trust = Trust.MEDIUM,
        *,
        dated: bool = True,
    ) -> None:
        key = (strategy, context, kind, trust)
        if key not in self.effects:
            self.effects[key] = Effect(
                context=context, strategy=strategy, metric="gain", kind=kind, trust=trust
            )
            self._of.setdefault(strategy, []).append(key)
        self.outcomes += 1
        if not dated:  # a row of a table has no time
            self.effects[key] = self.effects[key].add([gain])
            return
        found = DatedGain(
            time=START + timedelta(minutes=self.outcomes), id=f"{self.outcomes:08}", unats=to_unats(gain)
        )
        self.effects[key] = self.effects[key].see([found])

    @property
    def prior(self) -> Prior:
        if self.fixed is not None:
            return self.fixed
        if self._prior is None or self.outcomes >= self._prior[0] + REFIT:
            self._prior = (self.outcomes, Prior.of(self.effects.values()))
        return self._prior[1]

    def _nearness(self, asked: Context, seen: Context) -> float:
        if asked == seen:
            return 2.0
        level = SHARED_LEVELS[self.distance(asked.hardware, seen.hardware)]
        return self.components.hardware * level + self.components.family * (asked.family == seen.family)

    def expected(self, strategy: str, context: Context) -> Gain:
        keys = self._of.get(strategy, [])
        if len(keys) > NEAREST:
            keys = sorted(keys, key=lambda key: -self._nearness(context, key[1]))[:NEAREST]
        evidence = []
        for key in keys:
            known = effect_state(self.effects[key])
            if known is not None:
                trust = min(key[3].weight, 1.0) * KIND_TRUST[key[2]]
                evidence.append(ObservedEffect(context=key[1], mean=known.mean, n=known.n, trust=trust))
        return posterior(self.prior, evidence, context, self.distance, self.components)[0]


@dataclass(frozen=True)
class Arrival:
    """A problem that arrives: where, what can be chosen, and what each choice truly gains."""

    context: Context
    gains: dict[str, float]

    @property
    def best(self) -> float:
        return max(self.gains.values())


def play(
    arrivals: list[Arrival], beliefs: Beliefs, policy: str, rng: np.random.Generator, noise: float
) -> NDArray[np.float64]:
    """Log regret of each choice; what came out is outcomes, except to ``static`` knowledge."""
    regrets = []
    for arrival in arrivals:
        expected = {name: beliefs.expected(name, arrival.context) for name in arrival.gains}
        chosen = max(sorted(expected), key=lambda name: expected[name].expected)
        regrets.append(arrival.best - arrival.gains[chosen])
        if policy != "static":
            beliefs.tell(chosen, arrival.context, arrival.gains[chosen] + noise * rng.standard_normal())
    return np.array(regrets)
