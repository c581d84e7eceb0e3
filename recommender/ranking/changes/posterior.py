"""The gain of a strategy here, from effects seen elsewhere: a normal hierarchical model, computed when read.

g[s, c]: log gain of strategy s in context c, in nats, above zero is better.
y[i]: mean of the n[i] gains of one effect of s, published ones shrunk: what is published is chosen.

    g[s, c] = mu[s] + h[s, c] + f[s, c] + o[s, c]      y[i] = g[s, c[i]] + noise

mu is the strategy's own, h a sum of deviations along the hardware tree (vendor, architecture, family, device,
each with a quarter of h's variance), f that of the model family, o that of the context alone. So two contexts
correlate by what they share, the less the farther their lengths, batches and layouts are apart
(:mod:`recommender.ranking.changes.nearness`). mu, noise and the
variance of h + f + o are estimated from all effects of the same kind of metric (method of moments); how the
latter divides among h, f and o is in ``Components``. The posterior is Gaussian conditioning on all effects.

Where trusted effects lie farther off than the spread allows, it is wider than it was thought: they count for
more and the interval is wider, as in a Student t process (Shah, Wilson and Ghahramani, AISTATS 2014).

An effect of trust t varies 1/t times as much as a trusted one, however many gains it has, and effects of low
trust share that fault: who repeats himself, in one context or in many, cannot buy more weight than his trust.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from kg.nouns.effects import Context, Effect
from kg.nouns.entities import Kind, Trust
from kg.nouns.gain import Gain
from kg.triples.hardware_tree import Distance
from recommender.ranking.changes.drift import change
from recommender.ranking.changes.nearness import nearness
from recommender.ranking.changes.robust import (
    K,
    clipped_square,
    location_and_scale,
    variance_of,
)

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

KIND_TRUST = {Kind.MEASURED: 1.0, Kind.PUBLISHED: 0.5, Kind.MODELLED: 0.25}
"""Weight of a gain by its evidence. Published ones say little of their conditions and modelled ones have
never run; how much less they count is not measured: a half and a quarter are choices."""

USUAL_NOISE = (0.05, 4)
"""Standard deviation of one gain around its effect, in nats, and for how many gains this guess counts beside
those that are known: problems of one context differ by several per cent where they can be compared."""

WIDEST_NOISE = 2.0
"""Variance of one effect at most, in variances of all: 84 % of those of two normal gains are smaller."""

TAILS = 4
"""Degrees of freedom of the spread of gains: what is proposed where tails are not known (Lange, Little and
Taylor, Robust statistical modeling using the t distribution, J. Am. Stat. Assoc. 84, 1989)."""

_SCORES = tuple(NormalDist().inv_cdf((number + 0.5) / LEAST_STRATEGIES) for number in range(LEAST_STRATEGIES))
"""Normal scores: where observations of a standard normal distribution lie."""

SHARED_LEVELS = {
    Distance.SAME_DEVICE: 1.0,
    Distance.SIBLING: 0.75,
    Distance.SAME_ARCHITECTURE: 0.5,
    Distance.SAME_VENDOR: 0.25,
    Distance.OTHER_VENDOR: 0.0,
}
"""Share of the deviations along the hardware tree that two devices have in common."""


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
            chosen = _spread_out(group)
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


def _spread_out(group: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the effects of a strategy, or so many of them, evenly by their means, that pairs stay few."""
    if len(group) <= MOST_OF_STRATEGY:
        return group
    step = len(group) / MOST_OF_STRATEGY
    ordered = sorted(group)
    return [ordered[int((number + 0.5) * step)] for number in range(MOST_OF_STRATEGY)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """The shares of the variance between contexts; the three sum to 1.

    Attributes:
        hardware: Share of the hardware tree.
        family: Share of the model family.
        own: Share of the context alone.
    """

    hardware: float = 1 / 3
    family: float = 1 / 3
    own: float = 1 / 3

    def __post_init__(self) -> None:
        """Refuse shares that are none."""
        shares = (self.hardware, self.family, self.own)
        if min(shares) < 0 or not math.isclose(sum(shares), 1, abs_tol=1e-6):
            raise ValueError(f"shares of a variance that are {shares}")


EQUAL = Components()
"""Where nothing is known of which matters more."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedEffect:
    """An effect as evidence.

    Attributes:
        context: Where.
        mean: Mean gain in nats.
        n: How many gains.
        trust: How far it is trusted, above 0 to 1.
        framework: The framework it was seen in; empty if that is the question's or unknown.
    """

    context: Context
    mean: float
    n: int
    trust: float = 1.0
    framework: str = ""


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


def posterior(
    prior: Prior,
    evidence: Sequence[ObservedEffect],
    context: Context,
    distance: Callable[[str, str], Distance],
    components: Components = EQUAL,
) -> tuple[Gain, list[float]]:
    """Compute the expected gain on one more problem of a context.

    Args:
        prior: What is expected without evidence.
        evidence: What was seen of the strategy.
        context: The context.
        distance: Of two nodes of the hardware tree.
        components: How the variance between contexts divides.

    Returns:
        Mean and 90 % interval of the predictive distribution, and the weight of each piece of evidence:
        how much the mean moves with it, 0 to 1.
    """
    weighty = [(place, item) for place, item in enumerate(evidence) if item.trust > 0 and item.n > 0]
    strategy, between, noise = prior.between_strategies**2, prior.between_contexts**2, prior.noise**2
    if not weighty:
        return Gain.around(prior.mean, math.sqrt(strategy + between + noise)), [0.0] * len(evidence)
    places = [context, *(item.context for _, item in weighty)]
    shared = shared_variance(places, distance, components)
    shared *= nearness(
        context.facts, [item.context.facts for _, item in weighty], [item.framework for _, item in weighty]
    )
    covariance = strategy + between * shared
    gram, towards = covariance[1:, 1:], covariance[0, 1:]
    # What is not trusted has a fault in common, which no number of gains or contexts takes away.
    trusts = np.array([item.trust for _, item in weighty])
    noises = noise / np.array([item.n for _, item in weighty], float)
    faults = np.sqrt((1 / trusts - 1) * (strategy + between + noises))
    is_doubted = trusts <= Trust.LOW.weight
    in_common = np.outer(faults, faults) * (
        np.outer(is_doubted, is_doubted) | np.eye(len(faults), dtype=bool)
    )
    spread, scatter = gram + in_common, np.diag(noises + 1e-12)
    beyond = np.array([item.mean for _, item in weighty]) - prior.mean
    wider = _widening((spread + scatter)[np.ix_(~is_doubted, ~is_doubted)], beyond[~is_doubted])
    weights = np.linalg.solve(wider * spread + scatter, wider * towards)
    mean = prior.mean + float(weights @ beyond)
    variance = max(0.0, wider * (strategy + between - float(weights @ towards)))
    shares = [0.0] * len(evidence)
    for (place, _), weight in zip(weighty, weights, strict=True):
        shares[place] = float(weight)
    return Gain.around(mean, math.sqrt(variance + noise)), shares


def _widening(covariance: NDArray[np.float64], beyond: NDArray[np.float64]) -> float:
    """Return the factor of a variance, at least 1, from observations that lie ``beyond`` their mean."""
    surprise = float(beyond @ np.linalg.solve(covariance, beyond))
    return max(1.0, (TAILS - 2 + surprise) / (TAILS - 2 + len(beyond)))


def shared_variance(
    places: Sequence[Context], distance: Callable[[str, str], Distance], components: Components
) -> NDArray[np.float64]:
    """Return the share of the variance that each two contexts have in common, 0 to 1; shape (n, n).

    Circumstances do not count here: contexts that differ in them alone have all in common.

    Args:
        places: The contexts.
        distance: Of two nodes of the hardware tree.
        components: How the variance divides.
    """
    devices = {name: place for place, name in enumerate(dict.fromkeys(item.hardware for item in places))}
    levels = np.array(
        [
            [SHARED_LEVELS[distance(one, other)] if one and other else 0.0 for other in devices]
            for one in devices
        ]
    )
    families = {name: place for place, name in enumerate(dict.fromkeys(item.family for item in places))}
    numbers = {item: place for place, item in enumerate(dict.fromkeys(item.place for item in places))}
    at = np.array([devices[item.hardware] for item in places])
    family = np.array([families[item.family] if item.family else -1 - n for n, item in enumerate(places)])
    number = np.array([numbers[item.place] for item in places])
    variance = components.hardware * levels[np.ix_(at, at)]
    variance += components.family * (family[:, None] == family[None, :])
    return np.where(number[:, None] == number[None, :], 1.0, variance)


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
