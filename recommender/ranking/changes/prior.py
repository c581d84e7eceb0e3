"""What a strategy gains before its own evidence counts, estimated from the effects of all strategies.

Every estimate is bounded, so that no source moves it far (:mod:`recommender.ranking.changes.robust`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import TypeVar

from kg.nouns.effects import Effect
from kg.nouns.entities import Kind
from recommender.ranking.changes.drift import change
from recommender.ranking.changes.robust import K, clipped_square, location_and_scale, variance_of

_Item = TypeVar("_Item")

PUBLICATION_SHRINKAGE = 0.5
"""Replications of published effects found about half their size on average (Open Science Collaboration,
Estimating the reproducibility of psychological science, Science 349, 2015). No such study of tuning gains
exists; five of the 107 published ones here are negative, which honest tuning is not."""

LEAST_SPREAD = 0.03
"""Standard deviation between contexts at least, in nats: repeats of one measurement differ by 1 to 3 %."""

UNINFORMED = (0.02, 0.10, 0.10)
"""Mean gain of a strategy and the two standard deviations, in nats, before any is known: most tuning gains
little, and 10 % either way covers the ordinary."""

LEAST_STRATEGIES = 5
"""For how many strategies :data:`UNINFORMED` counts beside those that are known."""

LEAST_DIFFERENCES = 40
"""For how many differences within a strategy its two deviations count: that many tell a variance within a
quarter (relative error sqrt(2 / 40)), fewer do not tell how a spread divides."""

MOST_OF_STRATEGY = 64
"""Effects of a strategy whose differences are formed, spread evenly over all by their means; they have 2,016
pairs, where a thousand contexts would have half a million at every question."""

USUAL_NOISE = (0.05, 4)
"""Standard deviation of one gain around its effect, in nats, and for how many gains this guess counts beside
those that are known: problems of one context differ by several per cent where they can be compared."""

WIDEST_NOISE = 2.0
"""Variance of one effect at most, in variances of all: 84 % of those of two normal gains are smaller."""

_SCORES = tuple(NormalDist().inv_cdf((number + 0.5) / LEAST_STRATEGIES) for number in range(LEAST_STRATEGIES))
"""Normal scores: where observations of a standard normal distribution lie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """The expected gain of a strategy before its own evidence.

    Attributes:
        mean: Mean gain over strategies, in nats.
        between_strategies: Standard deviation over strategies, in nats.
        between_contexts: Standard deviation of one strategy over contexts, in nats.
        strategies: How many strategies it rests on.
        noise: Standard deviation of one gain around the mean of its context, in nats.
    """

    mean: float
    between_strategies: float
    between_contexts: float
    strategies: int
    noise: float = USUAL_NOISE[0]

    @classmethod
    def of(cls, effects: Iterable[Effect], sources: Callable[[Effect], Iterable[str]] | None = None) -> Prior:
        """Fit the prior to effects of comparable metrics, so that no source moves it far.

        A source has one vote, however many strategies it speaks of, and a strategy one, however many contexts
        it was seen in; a source of low trust has none, for it speaks for its own strategy alone. Among 31
        strategies with gains as they are published (up to 0.6 nats), one source so moves the gain of a
        strategy that it does not speak of by at most 0.02 nats, and by nothing at low trust.

        Args:
            effects: Whose gains are comparable.
            sources: Ids of the sources of an effect; each effect is a source of its own if None.
        """
        known_effects = [
            (effect, state)
            for effect in effects
            if (state := effect_state(effect)) is not None and effect.trust.weight >= 1
        ]
        votes = _votes([effect for effect, _ in known_effects], sources)
        means = [state.mean for _, state in known_effects]
        centre, deviation = UNINFORMED[0], math.hypot(*UNINFORMED[1:])
        guesses = [centre + deviation * score for score in _SCORES]
        weights = [*_of_strategies(known_effects, votes), *[1.0] * LEAST_STRATEGIES]
        mean, total = location_and_scale([*means, *guesses], weights, LEAST_SPREAD)
        within = (UNINFORMED[2] / deviation) ** 2  # of the whole variance
        squares, count = LEAST_DIFFERENCES * clipped_square(within), float(LEAST_DIFFERENCES)
        groups: dict[str, list[tuple[float, float]]] = {}
        for (effect, state), vote in zip(known_effects, votes, strict=True):
            groups.setdefault(effect.strategy, []).append((state.mean, vote))
        for group in groups.values():
            size = max(2.0, sum(vote for _, vote in group))
            chosen = evenly_spread(sorted(group), MOST_OF_STRATEGY)
            pairs = len(group) * (len(group) - 1) / max(1, len(chosen) * (len(chosen) - 1))
            for (one, vote), (other, second) in combinations(chosen, 2):
                weight = pairs * min(vote, second) * 2 / size  # n effects of one vote each: n - 1 differences
                squares += weight * min(K**2, (one - other) ** 2 / 2 / total**2)
                count += weight
        within = variance_of(squares / count)
        return cls(
            mean=mean,
            between_strategies=max(LEAST_SPREAD, total * math.sqrt(1 - within)),
            between_contexts=max(LEAST_SPREAD, total * math.sqrt(within)),
            strategies=len(groups),
            noise=_noise(known_effects, votes),
        )


def evenly_spread(items: Sequence[_Item], most: int) -> Sequence[_Item]:
    """Return items, or so many of them, at even steps."""
    if len(items) <= most:
        return items
    return [items[int((number + 0.5) * len(items) / most)] for number in range(most)]


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectState:
    """The current state of an effect: its gains since the last drift, published ones shrunk.

    Attributes:
        n: How many gains.
        mean: Their mean, in nats.
        variance: Their sample variance, in nats squared; None before the second.
        drift: When and how it changed, in words; empty if it did not.
    """

    n: int
    mean: float
    variance: float | None
    drift: str = ""


def effect_state(effect: Effect) -> EffectState | None:
    """Return the current state of an effect; None where nobody measured anything."""
    if effect.mean is None or effect.kind in {Kind.CLAIMED, Kind.TARGET, Kind.WINNER}:
        return None
    shrinkage = PUBLICATION_SHRINKAGE if effect.kind is Kind.PUBLISHED else 1.0
    changed = change(effect)
    if changed is None:
        return EffectState(n=effect.n, mean=effect.mean * shrinkage, variance=effect.variance)
    mean, n = changed.after, len(changed.gains)
    return EffectState(
        n=n,
        mean=mean * shrinkage,
        variance=sum((gain - mean) ** 2 for gain in changed.gains) / (n - 1),
        drift=changed.text,
    )


def _votes(effects: Sequence[Effect], sources: Callable[[Effect], Iterable[str]] | None) -> list[float]:
    """Return the votes of the effects: a source divides one among its effects."""
    cited = [tuple(sources(effect)) if sources is not None else () for effect in effects]
    said = Counter(source for names in cited for source in set(names))
    return [min(1.0, sum(1 / said[name] for name in set(names))) if names else 1.0 for names in cited]


def _of_strategies(
    known_effects: Sequence[tuple[Effect, EffectState]], votes: Sequence[float]
) -> list[float]:
    """Return the votes such that no strategy has more than one."""
    sums: dict[str, float] = {}
    for (effect, _), vote in zip(known_effects, votes, strict=True):
        sums[effect.strategy] = sums.get(effect.strategy, 0.0) + vote
    return [vote / max(1.0, sums[e.strategy]) for (e, _), vote in zip(known_effects, votes, strict=True)]


def _noise(known_effects: Sequence[tuple[Effect, EffectState]], votes: Sequence[float]) -> float:
    """Estimate the deviation of one gain around its effect, in nats, from the usual one and measured effects.

    An effect's variance counts up to :data:`WIDEST_NOISE` times the result.
    """
    shown = [
        (state.variance, vote)
        for (effect, state), vote in zip(known_effects, votes, strict=True)
        if effect.kind is Kind.MEASURED and state.variance is not None
    ]
    usual, count = USUAL_NOISE
    square = usual**2
    for _ in range(100):
        before = square
        total = sum(vote * min(variance, WIDEST_NOISE * square) for variance, vote in shown)
        square = (usual**2 * count + total) / (count + sum(vote for _, vote in shown))
        if abs(square - before) < 1e-9 * before:
            break
    return math.sqrt(square)
