"""What a strategy did where: a context, and the effect seen in it.

An effect holds exact integers (how many gains, their sum, the sum of their squares), so the order in
which evidence arrives does not matter and replaying it gives the same numbers to the last digit.

g: log gain in nats, above zero is better.
u: the gain in whole millionths of a nat, ``round(g * 10**6)``; half a millionth is the error of one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from kg.entities import Kind

UNATS_PER_NAT = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Where a strategy was tried.

    Attributes:
        bottleneck: Id of the bottleneck it was meant for; empty for any.
        hardware: Id of the node of the hardware tree; empty for any.
        family: Id of the model family; empty for any.
    """

    bottleneck: str = ""
    hardware: str = ""
    family: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The log gains of a strategy on one metric in one context.

    Attributes:
        context: Where.
        strategy: Id of the strategy.
        metric: What was measured, such as ``"step_time"``.
        kind: How the gains are known; kinds are never mixed.
        n: How many gains.
        sum_unats: Sum of the gains, in millionths of a nat.
        sum_squares_unats2: Sum of their squares, each in millionths of a nat before squaring.
        last_evidence: When the newest of them came in, UTC; None if unknown.
    """

    context: Context
    strategy: str
    metric: str
    kind: Kind
    n: int = 0
    sum_unats: int = 0
    sum_squares_unats2: int = 0
    last_evidence: datetime | None = None

    def __post_init__(self) -> None:
        """Refuse sums that no gains have."""
        if self.n < 0 or self.sum_unats**2 > self.n * self.sum_squares_unats2:
            raise ValueError(
                f"no {self.n} gains have the sums {self.sum_unats} and {self.sum_squares_unats2}"
            )

    @property
    def mean(self) -> float | None:
        """Mean gain in nats; None before the first."""
        return self.sum_unats / (self.n * UNATS_PER_NAT) if self.n else None

    @property
    def variance(self) -> float | None:
        """Sample variance of the gains in nats squared; None before the second."""
        if self.n < 2:
            return None
        # The difference of two large numbers is taken in integers, where it is exact.
        squares_about_mean = self.n * self.sum_squares_unats2 - self.sum_unats**2
        return squares_about_mean / (self.n * (self.n - 1) * UNATS_PER_NAT**2)

    def add(self, gains: Iterable[float], *, now: datetime | None = None) -> Self:
        """The effect with more evidence.

        Args:
            gains: Log gains in nats.
            now: When the evidence came in, with its time zone.

        Raises:
            ValueError: A gain is not finite.
        """
        whole = [to_unats(gain) for gain in gains]
        return replace(
            self,
            n=self.n + len(whole),
            sum_unats=self.sum_unats + sum(whole),
            sum_squares_unats2=self.sum_squares_unats2 + sum(unats**2 for unats in whole),
            last_evidence=_latest(self.last_evidence, now) if whole else self.last_evidence,
        )

    def merge(self, other: Self) -> Self:
        """The effect with the evidence of both, as two workspaces have it that share none.

        Raises:
            ValueError: They are not about the same strategy, context, metric and kind.
        """
        if self.about != other.about:
            raise ValueError(f"{self.about} and {other.about} are not the same effect")
        return replace(
            self,
            n=self.n + other.n,
            sum_unats=self.sum_unats + other.sum_unats,
            sum_squares_unats2=self.sum_squares_unats2 + other.sum_squares_unats2,
            last_evidence=_latest(self.last_evidence, other.last_evidence),
        )

    @property
    def about(self) -> tuple[Context, str, str, Kind]:
        """What identifies an effect: context, strategy, metric and kind."""
        return self.context, self.strategy, self.metric, self.kind


def to_unats(gain: float) -> int:
    """A gain in nats as whole millionths of a nat.

    Raises:
        ValueError: It is not finite.
    """
    if not math.isfinite(gain):
        raise ValueError(f"a log gain of {gain}")
    return round(gain * UNATS_PER_NAT)


def _latest(one: datetime | None, other: datetime | None) -> datetime | None:
    times = [time for time in (one, other) if time is not None]
    return max(times) if times else None
