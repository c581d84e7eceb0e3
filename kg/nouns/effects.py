"""Contexts, and the effects of strategies seen in them.

An effect holds exact integers (how many gains, their sum, the sum of their squares), so the order in
which evidence arrives does not matter and replaying it gives the same numbers to the last digit. Beside
them it keeps its newest dated gains, ordered by their own time, in which a drift can be seen; they too
follow from the set of outcomes and not from the order in which they were told.

g: log gain in nats, above zero is better.
u: the gain in added millionths of a nat, ``round(g * 10**6)``; half a millionth is the error of one.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Self

from kg.nouns.codec import NOT_IN_JSON, OR_NULL, Empty, JsonNoun, in_json
from kg.nouns.entities import Kind, Trust
from kg.nouns.values import Settings, show

UNATS_PER_NAT = 1_000_000

RECENT = 32
"""Dated gains that an effect keeps: they show a shift of one standard deviation and take 2 kB."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class DatedGain:
    """A gain that an outcome found.

    Attributes:
        time: End of the test, with its time zone.
        id: Of the outcome.
        unats: The gain in millionths of a nat.
    """

    time: datetime
    id: str
    unats: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(JsonNoun):
    """The place in which a strategy was tested, the circumstances there, and what it replaced.

    Attributes:
        bottleneck: Id of the bottleneck it was meant for; empty for any.
        hardware: Id of the node of the hardware tree; empty for any.
        family: Id of the model family; empty for any.
        against: Settings that a published baseline had on in its place, such as
            ``context_parallel_algo: megatron_cp_algo``; empty for the same without the strategy.
        facts: Lengths, batch, layout and software (:mod:`kg.terms.circumstances`), as far as they are known.
    """

    bottleneck: str = field(default="", metadata=NOT_IN_JSON)
    hardware: str = field(default="", metadata=OR_NULL)
    family: str = field(default="", metadata=in_json("model_family", empty=Empty.NULL))
    against: Settings = field(
        default_factory=Settings, metadata=in_json(write=lambda settings: str(settings) or None)
    )
    facts: Settings = field(default_factory=Settings, metadata=in_json("circumstances", empty=Empty.NULL))

    @property
    def place(self) -> tuple[str, str, str, Settings]:
        """Bottleneck, hardware, family and baseline: all but the circumstances."""
        return self.bottleneck, self.hardware, self.family, self.against

    @property
    def baseline_text(self) -> str:
        """Settings of a published baseline, as text; empty for the same without the strategy."""
        return str(self.against)

    @property
    def facts_text(self) -> str:
        """The circumstances, as text; empty if none are known."""
        return ", ".join(
            f"{name.removeprefix('software.')} {show(value)}".strip() for name, value in self.facts.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The log gains of a strategy on one metric in one context.

    Attributes:
        context: The place.
        strategy: Id of the strategy.
        metric: The measured metric, such as ``"step_time"``.
        kind: Kind of evidence; kinds are never mixed.
        n: Number of gains.
        sum_unats: Sum of the gains, in millionths of a nat.
        sum_squares_unats2: Sum of their squares, each in millionths of a nat before squaring.
        last_evidence: Time of the newest gain, UTC; None if unknown.
        trust: Trust in the sources of these gains; gains of other sources are another effect.
        recent: The newest dated gains, oldest first, at most :data:`RECENT`; they are counted in ``n`` too.

    Example:
        >>> from kg.nouns.entities import Kind
        >>> context = Context(bottleneck="host-bound", hardware="ascend-910b1")
        >>> effect = Effect(context=context, strategy="graph-mode", metric="step_time", kind=Kind.MEASURED)
        >>> effect = effect.add([0.10, 0.14])
        >>> effect.n, effect.mean
        (2, 0.12)
    """

    context: Context
    strategy: str
    metric: str
    kind: Kind
    n: int = 0
    sum_unats: int = 0
    sum_squares_unats2: int = 0
    last_evidence: datetime | None = None
    trust: Trust = Trust.MEDIUM
    recent: tuple[DatedGain, ...] = ()

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
        """Return the effect with more gains.

        Args:
            gains: Log gains in nats.
            now: Time of the evidence, with its time zone.

        Raises:
            ValueError: A gain is not finite.
        """
        added = [to_unats(gain) for gain in gains]
        return replace(
            self,
            n=self.n + len(added),
            sum_unats=self.sum_unats + sum(added),
            sum_squares_unats2=self.sum_squares_unats2 + sum(unats**2 for unats in added),
            last_evidence=_latest(self.last_evidence, now) if added else self.last_evidence,
        )

    def see(self, gains: Iterable[DatedGain]) -> Self:
        """Return the effect with the gains of outcomes, each counted once."""
        gains = tuple(gains)
        newest = max((item.time for item in gains), default=None)
        return replace(
            self,
            n=self.n + len(gains),
            sum_unats=self.sum_unats + sum(item.unats for item in gains),
            sum_squares_unats2=self.sum_squares_unats2 + sum(item.unats**2 for item in gains),
            last_evidence=_latest(self.last_evidence, newest),
            recent=_newest(self.recent, gains),
        )

    def without(self, gains: Iterable[int], ids: Iterable[str] = ()) -> Self:
        """Return the effect without some of its gains, as when the trust of their source changes.

        Args:
            gains: The gains to take out, in millionths of a nat.
            ids: Of the outcomes that found them.

        Raises:
            ValueError: It does not have those gains.
        """
        removed, removed_ids = list(gains), set(ids)
        return replace(
            self,
            n=self.n - len(removed),
            sum_unats=self.sum_unats - sum(removed),
            sum_squares_unats2=self.sum_squares_unats2 - sum(unats**2 for unats in removed),
            recent=tuple(item for item in self.recent if item.id not in removed_ids),
        )

    def merge(self, other: Self) -> Self:
        """Return the effect with the evidence of both; they must share none.

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
            recent=_newest(self.recent, other.recent),
        )

    @property
    def about(self) -> tuple[Context, str, str, Kind, Trust]:
        """The identity of an effect: context, strategy, metric, kind and trust."""
        return self.context, self.strategy, self.metric, self.kind, self.trust


def to_unats(gain: float) -> int:
    """Return a gain in nats as a added number of millionths of a nat.

    Raises:
        ValueError: It is not finite.
    """
    if not math.isfinite(gain):
        raise ValueError(f"a log gain of {gain}")
    return round(gain * UNATS_PER_NAT)


def _latest(one: datetime | None, other: datetime | None) -> datetime | None:
    times = [time for time in (one, other) if time is not None]
    return max(times) if times else None


def _newest(*groups: Iterable[DatedGain]) -> tuple[DatedGain, ...]:
    by_id = {item.id: item for group in groups for item in group}
    return tuple(sorted(by_id.values())[-RECENT:])
