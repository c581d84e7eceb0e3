"""What a strategy gains here, from effects seen elsewhere: a normal hierarchical model, computed when read.

g[s, c]: log gain of strategy s in context c, in nats, above zero is better.

    g[s, c] ~ N(mu[s], between contexts),   mu[s] ~ N(prior mean, between strategies)

The three numbers are estimated from all effects of the same kind of metric (method of moments), so they
follow the workspace's own evidence. Published gains are shrunk first: what is published is chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.entities import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kg.effects import Effect

PUBLICATION_SHRINKAGE = 0.5
"""Replications of published effects found about half their size on average (Open Science Collaboration,
Estimating the reproducibility of psychological science, Science 349, 2015). No such study of tuning gains
exists; five of the 107 published ones here are negative, which honest tuning is not."""

NORMAL_90 = 1.6449
"""Half the width of a 90 % interval of a normal distribution, in standard deviations."""

LEAST_SPREAD = 0.03
"""Standard deviation between contexts at least, in nats: repeats of one measurement differ by 1 to 3 %."""

UNINFORMED = (0.02, 0.10, 0.10)
"""Prior mean and the two standard deviations, in nats, where fewer than :data:`LEAST_STRATEGIES` strategies
have effects: most tuning gains little, and 10 % either way covers the ordinary."""
LEAST_STRATEGIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What is expected of a strategy before its own evidence.

    Attributes:
        mean: Mean gain over strategies, in nats.
        between_strategies: Standard deviation over strategies, in nats.
        between_contexts: Standard deviation of one strategy over contexts, in nats.
        strategies: How many strategies it rests on.
    """

    mean: float
    between_strategies: float
    between_contexts: float
    strategies: int

    @classmethod
    def of(cls, effects: Iterable[Effect]) -> Prior:
        """The prior that effects of comparable metrics give."""
        groups: dict[str, list[float]] = {}
        for effect in effects:
            gain = shrunk_mean(effect)
            if gain is not None:
                groups.setdefault(effect.strategy, []).append(gain)
        if len(groups) < LEAST_STRATEGIES:
            mean, strategies, contexts = UNINFORMED
            return cls(
                mean=mean, between_strategies=strategies, between_contexts=contexts, strategies=len(groups)
            )
        means = [sum(gains) / len(gains) for gains in groups.values()]
        centre = sum(means) / len(means)
        squares = [(gain - sum(gains) / len(gains)) ** 2 for gains in groups.values() for gain in gains]
        freedom = sum(len(gains) - 1 for gains in groups.values())
        within = max(LEAST_SPREAD, math.sqrt(sum(squares) / freedom)) if freedom else UNINFORMED[2]
        total = sum((mean - centre) ** 2 for mean in means) / (len(means) - 1)
        size = len(groups) / sum(1 / len(gains) for gains in groups.values())  # harmonic mean
        between = math.sqrt(max(LEAST_SPREAD**2, total - within**2 / size))
        return cls(mean=centre, between_strategies=between, between_contexts=within, strategies=len(groups))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """An expected log gain with a 90 % interval, in nats.

    Attributes:
        expected: Mean.
        low: 5 % quantile.
        high: 95 % quantile.
    """

    expected: float
    low: float
    high: float

    @property
    def probability_of_gain(self) -> float:
        """Probability that it helps at all, from a normal distribution of that width."""
        deviation = (self.high - self.low) / (2 * NORMAL_90)
        if deviation <= 0:
            return 1.0 if self.expected > 0 else 0.0
        middle = (self.high + self.low) / 2
        return 0.5 * math.erfc(-middle / deviation / math.sqrt(2))

    def capped(self, ceiling: float) -> Gain:
        """The same gain where more than ``ceiling`` nats cannot be had."""
        return Gain(
            expected=min(self.expected, ceiling), low=min(self.low, ceiling), high=min(self.high, ceiling)
        )

    def to_json(self) -> dict[str, float]:
        """As factors, and as natural logs."""
        return {
            "expected_factor": round(math.exp(self.expected), 4),
            "low_factor": round(math.exp(self.low), 4),
            "high_factor": round(math.exp(self.high), 4),
            "expected_log": round(self.expected, 6),
            "low_log": round(self.low, 6),
            "high_log": round(self.high, 6),
        }


def shrunk_mean(effect: Effect) -> float | None:
    """Mean gain of an effect, published ones shrunk; None where nothing was measured by anyone."""
    if effect.mean is None or effect.kind in {Kind.CLAIMED, Kind.TARGET, Kind.WINNER}:
        return None
    return effect.mean * (PUBLICATION_SHRINKAGE if effect.kind is Kind.PUBLISHED else 1.0)


def posterior(prior: Prior, evidence: Sequence[tuple[float, int, float]]) -> Gain:
    """The gain to expect in one more context.

    Args:
        prior: What is expected without evidence.
        evidence: Of each effect its mean gain in nats, how many gains it has, and how far it is
            trusted here, 0 to 1: an effect trusted half varies twice as much.

    Returns:
        Mean and 90 % interval of the predictive distribution.
    """
    context = prior.between_contexts**2
    precision = 1 / prior.between_strategies**2
    weighted = prior.mean * precision
    for mean, n, trust in evidence:
        if trust > 0 and n > 0:
            # Gains of one effect share their context: more of them sharpen its mean, not the transfer.
            weight = trust / (context * (1 + 1 / n))
            precision += weight
            weighted += mean * weight
    mean = weighted / precision
    deviation = math.sqrt(1 / precision + context)
    return Gain(expected=mean, low=mean - NORMAL_90 * deviation, high=mean + NORMAL_90 * deviation)
