"""Limits that nothing here is modelled to keep, with what comes nearest."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from kg.nouns.codec import JsonNoun, four_digits, in_json
from kg.nouns.entities import Limit
from kg.nouns.gain import NORMAL_90, Gain, normal_share
from recommender.cost_model.priced_step import PricedStep
from recommender.ranking.layout_question import LIMITED

LEAST_CHANCE = 0.01
"""Chance below which a limit counts as out of reach: that of a wrong verdict which A/B tests allow, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedLimit(JsonNoun):
    """A limit that the start, which comes nearest, is modelled to miss.

    Attributes:
        metric: Its metric.
        unit: Its unit.
        maximum: The limit.
        value: What the start is modelled to reach.
        low: Lower end of the 90 % interval.
        high: Upper end.
        chance: That it is kept with the changes together, by the spreads of both.
    """

    metric: str
    unit: str
    maximum: float
    value: float = field(metadata=in_json(write=four_digits))
    low: float = field(metadata=in_json(write=four_digits))
    high: float = field(metadata=in_json(write=four_digits))
    chance: float = field(metadata=in_json(digits=4))

    @property
    def within_reach(self) -> bool:
        """True if the limit may be kept; only limits that are almost surely missed are reported as missed."""
        return self.chance >= LEAST_CHANCE


def missed_limits(
    limits: Sequence[Limit], price: PricedStep | None, changes: Gain | None
) -> tuple[MissedLimit, ...]:
    """The limits that a start misses by its price; none without one.

    Args:
        limits: What was asked for.
        price: The price of the start, its settings included.
        changes: What its changes win together; None where none has a gain.
    """
    if price is None or not limits:
        return ()
    to_win, spread = 0.0, price.spread
    if changes is not None:
        to_win = max(changes.expected, 0.0)
        spread = math.hypot(spread, (changes.high - changes.low) / (2 * NORMAL_90))
    found = []
    for limit in limits:
        value = price.result(LIMITED.get(limit.metric, ""))
        if value is None or value <= limit.maximum or limit.maximum <= 0:
            continue
        low, high = (value * math.exp(sign * NORMAL_90 * price.spread) for sign in (-1, 1))
        found.append(
            MissedLimit(
                metric=limit.metric,
                unit=limit.unit,
                maximum=limit.maximum,
                value=value,
                low=low,
                high=high,
                chance=_below(math.log(limit.maximum / value) + to_win, spread),
            )
        )
    return tuple(found)


def _below(distance: float, spread: float) -> float:
    """Probability that a normal error with this spread stays below a distance."""
    if not spread > 0:
        return float(distance >= 0)
    return normal_share(distance / spread)
