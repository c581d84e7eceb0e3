"""The joint gain of several strategies, some of which save the same time.

s[b]: share of the time of observed bottleneck b; r: what no bottleneck has.
g[i]: expected log gain of strategy i, of the whole step.

A gain g saves ``1 - exp(-g)`` of the time. Fixes of one bottleneck overlap: the second saves that part of
what the first left of the share, so together they save ``s (1 - prod(1 - saved[i] / s))`` and never more
than s. Savings of different bottlenecks add, as their shares do. Where no bottleneck was told, strategies
for one kind of bottleneck share a group, and as the share of none is known each group may save all that
is left: the groups then multiply. Order does not matter, nothing exceeds the ceiling ``1 / (1 - share)``,
and no combination saves more time than its parts' savings added.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kg.nouns.codec import NOT_IN_JSON, JsonNoun, in_json
from kg.nouns.gain import Gain, rounded_factor
from kg.nouns.values import Value
from recommender.ranking.change import Change

_ALL = 1 - 1e-9
"""Largest share of the time that can be saved: something always remains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinationPart:
    """One strategy of a combination.

    Attributes:
        id: Of the recommendation.
        bottleneck: What it is for; parts of one bottleneck overlap.
        gain: Expected log gain with its interval.
        share: Share of the time that its bottleneck has; None if unknown.
    """

    id: str
    bottleneck: str
    gain: Gain
    share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination(JsonNoun):
    """Strategies that can be set together, and what that gains.

    Attributes:
        ids: Of the recommendations, in their order.
        gain: Expected log gain of all of them with a 90 % interval.
        ceiling: Log gain that cannot be exceeded; None if a share is unknown.
        left_out: Recommendations that exclude one that is in, or set the same parameter otherwise.
        kinds: What each recommendation is for; those for one bottleneck overlap.
    """

    ids: tuple[str, ...] = field(metadata=in_json("together"))
    gain: Gain
    ceiling: float | None = field(metadata=in_json("ceiling_factor", write=rounded_factor))
    left_out: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict, metadata=NOT_IN_JSON)


def combine_gains(parts: Sequence[CombinationPart]) -> Gain:
    """Compute the joint gain of parts, with an interval.

    The interval takes the parts as uncertain independently of each other: the squares of the distances
    from their expectations add, scaled by how much of each part's own gain remains in the combination.

    Raises:
        ValueError: No parts.
    """
    if not parts:
        raise ValueError("nothing to combine")
    ordered = sorted(parts, key=lambda part: part.id)
    expected = _log_gain([(part, part.gain.expected) for part in ordered])
    alone = math.fsum(part.gain.expected for part in ordered)
    kept = min(1.0, expected / alone) if alone > 0 and expected > 0 else 1.0
    below = kept * math.sqrt(math.fsum((part.gain.expected - part.gain.low) ** 2 for part in ordered))
    above = kept * math.sqrt(math.fsum((part.gain.high - part.gain.expected) ** 2 for part in ordered))
    gain = Gain(expected=expected, low=expected - below, high=expected + above)
    limit = ceiling(ordered)
    return gain if limit is None else gain.capped(limit)


def ceiling(parts: Iterable[CombinationPart]) -> float | None:
    """Return the log gain if the bottlenecks of all parts vanished; None if a share is unknown."""
    shares = {part.bottleneck: part.share for part in parts}
    numbers = [share for share in shares.values() if share is not None]
    if not numbers or len(numbers) < len(shares):
        return None
    return -math.log1p(-min(math.fsum(numbers), _ALL))


def combine(
    items: Sequence[Change], shares: Mapping[str, Value], kinds: Mapping[str, str] | None = None
) -> Combination | None:
    """Combine the recommended strategies that can be set together; None if fewer than two can.

    Args:
        items: Recommendations in their order; only strategies with a gain are combined.
        shares: Observed bottlenecks and their shares of the time.
        kinds: What each strategy is for where no bottleneck was told, by its id.
    """
    chosen: list[Change] = []
    left_out: list[str] = []
    for item in items:
        if not item.strategy or item.gain is None:
            continue
        if any(_clash(item, other) for other in chosen):
            left_out.append(item.id)
        else:
            chosen.append(item)
    if len(chosen) < 2:
        return None
    parts = [_part(item, shares, kinds or {}) for item in chosen]
    return Combination(
        ids=tuple(item.id for item in chosen),
        gain=combine_gains(parts),
        ceiling=ceiling(parts),
        left_out=tuple(left_out),
        kinds={part.id: part.bottleneck for part in parts},
    )


def _log_gain(gains: Sequence[tuple[CombinationPart, float]]) -> float:
    """Return the log gain of parts whose own log gains are given."""
    groups: dict[str, list[tuple[float | None, float]]] = {}
    for part, gain in gains:
        groups.setdefault(part.bottleneck or part.id, []).append((part.share, gain))
    by_share, unknown = [], 0.0
    for members in groups.values():
        share = members[0][0]
        if share is None:
            unknown += -math.log1p(-_saved(1.0, [gain for _, gain in members]))
        else:
            by_share.append(_saved(min(share, _ALL), [gain for _, gain in members]))
    return unknown - math.log1p(-min(math.fsum(by_share), _ALL))


def _saved(share: float, gains: Sequence[float]) -> float:
    """Return share of the time that overlapping fixes save; below zero where they cost more than they save.

    Where the share is not known the best fix counts alone: how much of it the others find done already
    cannot be told.
    """
    saved = [-math.expm1(-gain) for gain in gains]
    if share >= 1.0:
        return max(min(value, _ALL) for value in saved) if max(saved) > 0 else min(math.fsum(saved), 0.0)
    if share <= 0:
        return math.fsum(min(value, 0.0) for value in saved)
    left = 1.0
    for value in saved:
        if value > 0:
            left *= 1 - min(value / share, 1.0)
    return share * (1 - left) + math.fsum(value for value in saved if value < 0)


def _clash(one: Change, other: Change) -> bool:
    if other.strategy in one.conflicts or one.strategy in other.conflicts:
        return True
    return any(
        name in other.configuration and other.configuration[name] != value
        for name, value in one.configuration.items()
    )


def _part(item: Change, shares: Mapping[str, Value], kinds: Mapping[str, str]) -> CombinationPart:
    assert item.gain is not None  # noqa: S101  only such are combined
    share = shares.get(item.bottleneck) if item.bottleneck else None
    return CombinationPart(
        id=item.id,
        bottleneck=item.bottleneck or kinds.get(item.strategy, item.strategy),
        gain=item.gain,
        share=float(share) if isinstance(share, int | float) else None,
    )
