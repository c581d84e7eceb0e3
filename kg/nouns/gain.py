"""A gain: how much faster something runs, as a natural logarithm with an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

NORMAL_90 = 1.6449
"""Half the width of a 90 % interval of a normal distribution, in standard deviations."""


def normal_share(z: float) -> float:
    """The share of a standard normal distribution that lies below a value."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """An expected log gain with a 90 % interval, in nats: 0 changes nothing, 0.1 is about 10 % faster.

    Attributes:
        expected: Mean.
        low: 5 % quantile.
        high: 95 % quantile.

    Example:
        >>> gain = Gain(expected=0.2231, low=0.0, high=0.4055)
        >>> round(gain.factor, 2)
        1.25
        >>> str(gain)
        '1.25x (1.00 to 1.50)'
    """

    expected: float
    low: float
    high: float

    @classmethod
    def around(cls, expected: float, deviation: float) -> Gain:
        """The gain of a normal distribution."""
        half = NORMAL_90 * deviation
        return cls(expected=expected, low=expected - half, high=expected + half)

    @property
    def factor(self) -> float:
        """The expected gain as a factor of speed."""
        return math.exp(self.expected)

    @property
    def deviation(self) -> float:
        """Standard deviation of a normal distribution with that interval, in nats."""
        return (self.high - self.low) / (2 * NORMAL_90)

    @property
    def probability_of_gain(self) -> float:
        """Probability that it helps at all, from a normal distribution of that width."""
        if self.deviation <= 0:
            return 1.0 if self.expected > 0 else 0.0
        middle = (self.high + self.low) / 2
        return normal_share(middle / self.deviation)

    def capped(self, ceiling: float) -> Gain:
        """Return the gain with all of its values limited to ``ceiling`` nats."""
        return Gain(
            expected=min(self.expected, ceiling), low=min(self.low, ceiling), high=min(self.high, ceiling)
        )

    def of_part(self, share: float) -> Gain:
        """Return the gain of the whole where it acts on a share of the time, 0 to 1 (Amdahl)."""

        def whole(log: float) -> float:
            return -math.log(1 - share + share * math.exp(-log))

        return Gain(expected=whole(self.expected), low=whole(self.low), high=whole(self.high))

    def to_json(self) -> dict[str, float]:
        """Return the gain as factors and as natural logs, ready for JSON."""
        return {
            "expected_factor": round(math.exp(self.expected), 4),
            "low_factor": round(math.exp(self.low), 4),
            "high_factor": round(math.exp(self.high), 4),
            "expected_log": round(self.expected, 6),
            "low_log": round(self.low, 6),
            "high_log": round(self.high, 6),
        }

    def __str__(self) -> str:
        ends = f" ({math.exp(self.low):.2f} to {math.exp(self.high):.2f})" if self.low < self.high else ""
        return f"{self.factor:.2f}x{ends}"


def factor_text(gain: Gain | None) -> str:
    """Format a gain for people: ``1.25x (0.98 to 1.60)``."""
    return "unknown" if gain is None else str(gain)


def rounded_factor(log: float | None) -> float | None:
    """The factor of a log gain for JSON; None where it is unknown."""
    return None if log is None else round(math.exp(log), 4)


def joined_gain(one: Gain | None, other: Gain | None) -> Gain | None:
    """Two independent expectations of one gain as one, each weighing by its precision."""
    if one is None or other is None:
        return one or other
    weights = [1 / max(gain.deviation, 1e-3) ** 2 for gain in (one, other)]
    expected = (one.expected * weights[0] + other.expected * weights[1]) / sum(weights)
    return Gain.around(expected, sum(weights) ** -0.5)
