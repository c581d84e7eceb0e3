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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kg.nouns.effects import Context
from kg.nouns.entities import Kind, Trust
from kg.nouns.gain import Gain
from kg.triples.hardware_tree import Distance
from recommender.ranking.changes.nearness import nearness
from recommender.ranking.changes.prior import Prior

KIND_TRUST = {Kind.MEASURED: 1.0, Kind.PUBLISHED: 0.5, Kind.MODELLED: 0.25}
"""Weight of a gain by its evidence. Published ones say little of their conditions and modelled ones have
never run; how much less they count is not measured: a half and a quarter are choices."""

TAILS = 4
"""Degrees of freedom of the spread of gains: what is proposed where tails are not known (Lange, Little and
Taylor, Robust statistical modeling using the t distribution, J. Am. Stat. Assoc. 84, 1989)."""

MOST_EVIDENCE = 256
"""Effects that are weighed, those that alone would tell most: a local Gaussian process (Gramacy and Apley, J.
Comput. Graph. Stat. 24, 2015), for all of n effects take a time of n cubed."""

SHARED_LEVELS = {
    Distance.SAME_DEVICE: 1.0,
    Distance.SIBLING: 0.75,
    Distance.SAME_ARCHITECTURE: 0.5,
    Distance.SAME_VENDOR: 0.25,
    Distance.OTHER_VENDOR: 0.0,
}
"""Share of the deviations along the hardware tree that two devices have in common."""


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

    if len(weighty) > MOST_EVIDENCE:
        weighty = _most_telling(weighty, prior, context, distance, components)
    items = [item for _, item in weighty]
    covariance = _covariance(items, prior, context, distance, components)
    gram, towards = covariance[1:, 1:], covariance[0, 1:]
    # What is not trusted has a fault in common, which no number of gains or contexts takes away.
    trusts = np.array([item.trust for item in items])
    noises, faults = _scatter(items, prior)
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


def _covariance(
    items: Sequence[ObservedEffect],
    prior: Prior,
    context: Context,
    distance: Callable[[str, str], Distance],
    components: Components,
) -> NDArray[np.float64]:
    """Return the covariance of the gains here and in the contexts of effects; shape (1 + n, 1 + n)."""
    shared = shared_variance([context, *(item.context for item in items)], distance, components)
    shared *= nearness(
        context.facts, [item.context.facts for item in items], [item.framework for item in items]
    )
    return prior.between_strategies**2 + prior.between_contexts**2 * shared


def _scatter(items: Sequence[ObservedEffect], prior: Prior) -> tuple[NDArray[np.float64], ...]:
    """Return the variance of effects by noise and the deviation by lack of trust, each of shape (n,)."""
    trusts = np.array([item.trust for item in items])
    noises = prior.noise**2 / np.array([item.n for item in items], float)
    of_gain = prior.between_strategies**2 + prior.between_contexts**2
    return noises, np.sqrt((1 / trusts - 1) * (of_gain + noises))


def _most_telling(
    weighty: Sequence[tuple[int, ObservedEffect]],
    prior: Prior,
    context: Context,
    distance: Callable[[str, str], Distance],
    components: Components,
) -> list[tuple[int, ObservedEffect]]:
    """Return the effects that alone would take most of the variance here, in their order."""
    told: list[float] = []
    for start in range(0, len(weighty), MOST_EVIDENCE):
        part = [item for _, item in weighty[start : start + MOST_EVIDENCE]]
        matrix = _covariance(part, prior, context, distance, components)
        noises, faults = _scatter(part, prior)
        told += (matrix[0, 1:] ** 2 / (matrix.diagonal()[1:] + faults**2 + noises)).tolist()
    ranked = sorted(range(len(weighty)), key=lambda at: -told[at])
    return [weighty[at] for at in sorted(ranked[:MOST_EVIDENCE])]


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
