"""Hypotheses: strategies that nobody has tried, made from those that are known, with what a test is worth.

gain: expected log gain over what is known best, in nats, with its standard deviation s.
value: what one test is expected to be worth, in nats a problem: ``E[max(h, b)] - max(E h, b)`` with
``h ~ N(m, s**2)`` and b the best that is known. It is large where a hypothesis may well be best, small where
it is surely better or surely worse.
"""

import math
from dataclasses import dataclass

from kg.nouns.effects import Context
from kg.nouns.gain import Gain, normal_share, rounded_factor
from kg.nouns.knowledge import Strategy

RECOMBINATION, TRANSFER, BETWEEN = "recombination", "transfer", "between values"
"""Origins of a hypothesis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """A strategy that nobody has tried.

    Attributes:
        strategy: What to try; of kind hypothesis.
        origin: How it was made.
        context: Where.
        gain: What to expect of it there.
        best: Expected log gain of the best that is known there, in nats; 0 where nothing is.
        reason: Why it may work.
        modelled: Log gain that the cost model gives, in nats; None where it has no setting for it.
        problems: How many known problems it is for.
    """

    strategy: Strategy
    origin: str
    context: Context
    gain: Gain
    best: float
    reason: str
    modelled: float | None = None
    problems: int = 1

    @property
    def value(self) -> float:
        """Value of one test, in nats a problem."""
        return value_of_information(self.gain, self.best)

    def to_json(self) -> dict[str, object]:
        """Return the content as JSON-ready values."""
        return {
            "strategy": self.strategy.id,
            "sets": self.strategy.configuration.to_json(),
            "origin": self.origin,
            "parents": list(self.strategy.parents),
            "hardware": self.context.hardware or None,
            "bottleneck": self.context.bottleneck or None,
            "gain": self.gain.to_json(),
            "modelled_factor": rounded_factor(self.modelled),
            "value_of_a_test": round(self.value, 6),
            "problems": self.problems,
            "reason": self.reason,
        }


def value_of_information(gain: Gain, best: float) -> float:
    """Compute the value of a perfect test of a gain beside a known best, in nats."""
    deviation = gain.deviation
    distance = gain.expected - best
    if deviation <= 0:
        return 0.0
    z = distance / deviation
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    share = normal_share(z)
    return max(0.0, deviation * density + distance * share - max(distance, 0.0))
