"""The gain of a strategy here, from effects seen elsewhere: a normal hierarchical model, computed when read.

g[s, c]: log gain of strategy s in context c, in nats, above zero is better.
y[i]: mean of the n[i] gains of one effect of s, published ones shrunk: what is published is chosen.

    g[s, c] = mu[s] + h[s, c] + f[s, c] + o[s, c]      y[i] = g[s, c[i]] + noise

mu is the strategy's own, h a sum of deviations along the hardware tree (vendor, architecture, family, device,
each with a quarter of h's variance), f that of the model family, o that of the context alone. So two contexts
correlate by what they share, and evidence fades with distance without a rule for fading. mu, noise and the
variance of h + f + o are estimated from all effects of the same kind of metric (method of moments); how the
latter divides among h, f and o is in ``Components``. The posterior is Gaussian conditioning on all effects.

An effect of trust t varies 1/t times as much as a trusted one, however many gains it has: a source that
repeats itself cannot buy more weight than its trust.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kg.nouns.entities import Kind
from kg.nouns.gain import NORMAL_90, Gain
from kg.triples.hardware_tree import Distance
from recommender.ranking.changes.drift import change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from kg.nouns.effects import Context, Effect

PUBLICATION_SHRINKAGE = 0.5
"""Replications of published effects found about half their size on average (Open Science Collaboration,
Estimating the reproducibility of psychological science, Science 349, 2015). No such study of tuning gains
exists; five of the 107 published ones here are negative, which honest tuning is not."""

LEAST_SPREAD = 0.03
"""Standard deviation between contexts at least, in nats: repeats of one measurement differ by 1 to 3 %."""

UNINFORMED = (0.02, 0.10, 0.10)
"""Prior mean and the two standard deviations, in nats, where fewer than :data:`LEAST_STRATEGIES` strategies
have effects: most tuning gains little, and 10 % either way covers the ordinary."""
LEAST_STRATEGIES = 5

KIND_TRUST = {Kind.MEASURED: 1.0, Kind.PUBLISHED: 0.5, Kind.MODELLED: 0.25}
"""What a gain counts by how it is known. Published ones say little of their conditions and modelled ones have
never run; how much less they count is not measured: a half and a quarter are choices."""

USUAL_NOISE = (0.05, 4)
"""Standard deviation of one gain around its effect, in nats, and for how many gains this guess counts beside
those that are known: problems of one context differ by several per cent where they can be compared."""

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
    def of(cls, effects: Iterable[Effect]) -> Prior:
        """Fit the prior to effects of comparable metrics; distrusted ones count less."""
        groups: dict[str, list[tuple[float, float]]] = {}
        squares, freedom = USUAL_NOISE[0] ** 2 * USUAL_NOISE[1], float(USUAL_NOISE[1])
        for effect in effects:
            state = effect_state(effect)
            if state is None:
                continue
            trust = min(effect.trust.weight, 1.0)
            groups.setdefault(effect.strategy, []).append((state.mean, trust))
            if effect.kind is Kind.MEASURED and state.variance is not None:
                squares += trust * (state.n - 1) * state.variance
                freedom += trust * (state.n - 1)
        noise = math.sqrt(squares / freedom)
        if len(groups) < LEAST_STRATEGIES:
            mean, between, contexts = UNINFORMED
            return cls(
                mean=mean,
                between_strategies=between,
                between_contexts=contexts,
                strategies=len(groups),
                noise=noise,
            )
        weights = [sum(trust for _, trust in group) for group in groups.values()]
        sizes = [min(1.0, weight) for weight in weights]  # of a strategy, however many contexts it has
        means = [
            sum(gain * trust for gain, trust in group) / weight
            for group, weight in zip(groups.values(), weights, strict=True)
        ]
        centre = sum(map(float.__mul__, sizes, means)) / sum(sizes)
        apart, degrees = 0.0, 0.0
        for group, weight, middle in zip(groups.values(), weights, means, strict=True):
            apart += sum(trust * (gain - middle) ** 2 for gain, trust in group)
            degrees += weight * (len(group) - 1) / len(group)
        within = max(LEAST_SPREAD, math.sqrt(apart / degrees)) if degrees else UNINFORMED[2]
        squared = [(middle - centre) ** 2 for middle in means]
        total = sum(map(float.__mul__, sizes, squared)) / sum(sizes) * len(means) / (len(means) - 1)
        size = len(groups) / sum(1 / len(group) for group in groups.values())  # harmonic mean
        deviation = math.sqrt(max(LEAST_SPREAD**2, total - within**2 / size))
        return cls(
            mean=centre,
            between_strategies=deviation,
            between_contexts=within,
            strategies=len(groups),
            noise=noise,
        )


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
    """

    context: Context
    mean: float
    n: int
    trust: float = 1.0


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
        return _around(prior.mean, math.sqrt(strategy + between + noise)), [0.0] * len(evidence)
    places = [context, *(item.context for _, item in weighty)]
    covariance = strategy + between * shared_variance(places, distance, components)
    gram, towards = covariance[1:, 1:], covariance[0, 1:]
    # Gains of a source that is not trusted have a fault in common, which no number of them takes away.
    spread = [
        noise / item.n + (1 / item.trust - 1) * (strategy + between + noise / item.n) + 1e-12
        for _, item in weighty
    ]
    weights = np.linalg.solve(gram + np.diag(spread), towards)
    means = np.array([item.mean for _, item in weighty])
    mean = prior.mean + float(weights @ (means - prior.mean))
    variance = max(0.0, strategy + between - float(weights @ towards))
    shares = [0.0] * len(evidence)
    for (place, _), weight in zip(weighty, weights, strict=True):
        shares[place] = float(weight)
    return _around(mean, math.sqrt(variance + noise)), shares


def shared_variance(
    places: Sequence[Context], distance: Callable[[str, str], Distance], components: Components
) -> NDArray[np.float64]:
    """Return the share of the variance that each two contexts have in common, 0 to 1; shape (n, n).

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
    numbers = {item: place for place, item in enumerate(dict.fromkeys(places))}
    at = np.array([devices[item.hardware] for item in places])
    family = np.array([families[item.family] if item.family else -1 - n for n, item in enumerate(places)])
    number = np.array([numbers[item] for item in places])
    variance = components.hardware * levels[np.ix_(at, at)]
    variance += components.family * (family[:, None] == family[None, :])
    return np.where(number[:, None] == number[None, :], 1.0, variance)


def _around(mean: float, deviation: float) -> Gain:
    return Gain(expected=mean, low=mean - NORMAL_90 * deviation, high=mean + NORMAL_90 * deviation)
