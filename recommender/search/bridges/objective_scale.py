"""The scale of an objective: how far apart two of its values count as.

A search compares costs on a logarithmic scale, which fits times and rates. Rewards, log likelihoods and
losses less a baseline have any sign: there a difference counts, in units of the results' own spread, so
nothing depends on what is added to the objective or on what it is multiplied by.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST = 30.0
"""Largest log cost either way: beyond thirty times the median gap it no longer matters how far; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveScale:
    """A map from values of an objective to log costs: lower is better.

    Attributes:
        higher: Whether higher values are better.
        origin: Value whose log cost is zero; None on a ratio scale, where that is 1.
        unit: Difference of two values that counts as one log cost; unused on a ratio scale.
        bends: Whether costs above the origin are brought nearer to it, as a logarithm does.

    Example:
        >>> scale = ObjectiveScale.of([3.0, -1.0, 1.0], higher=True)
        >>> scale.log_cost(3.0), scale.log_cost(1.0), scale.log_cost(-3.0)
        (-0.0, 1.0, 3.0)
    """

    higher: bool
    origin: float | None = None
    unit: float = 1.0
    bends: bool = False

    @classmethod
    def of(cls, values: Sequence[float], *, higher: bool, bends: bool = False) -> ObjectiveScale:
        """The scale of differences that fits results: zero at the best, one at the median."""
        if not values:
            return cls(higher=higher, origin=0.0, bends=bends)
        best = max(values) if higher else min(values)
        gaps = [abs(value - best) for value in values]
        unit = median(gaps) or max(gaps) or 1.0
        return cls(higher=higher, origin=best, unit=unit if math.isfinite(unit) else 1.0, bends=bends)

    def fits(self, value: float) -> bool:
        """True where the scale has a place for a value."""
        return math.isfinite(value) and (self.origin is not None or value > 0)

    def log_cost(self, value: float) -> float:
        """The log cost of a value that fits."""
        sign = -1.0 if self.higher else 1.0
        if self.origin is None:
            return sign * math.log(value)
        gap = sign * (value - self.origin) / self.unit
        if self.bends and gap > 0:
            gap = math.log1p(gap)
        return min(max(gap, -_MOST), _MOST)
