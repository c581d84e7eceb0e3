"""Coefficients of the forecast: shipped ones from other regions, bent towards a series by its own past.

Each knot is a horizon with a ridge regression of its own; between knots coefficients are drawn in a straight
line. The target is the difference from the daily profile in units of the series' scale, so regions of any
level share coefficients.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import data
from recommender.green.history import DAY, HORIZON, LEAST_HISTORY, Floats, IntensityHistory, Slots

KNOTS: Slots = np.unique(
    np.r_[np.arange(DAY), np.arange(DAY, 2 * DAY, 2), np.arange(2 * DAY, HORIZON, 8), 383]
)
"""Horizons with coefficients of their own."""

PRIOR_ROWS = 1000.0
"""Weight of the shipped coefficients against rows of a series' own past; chosen on the shipped regions."""

BLOCK = 21 * DAY
"""Slots around a stretch that is forecast in a backtest in which nothing is learned from neighbours."""

OWN_STEP = 12
"""Slots between the origins of a series' own past that are learned from; nearer ones say the same."""


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Coefficients by knot.

    Attributes:
        values: Shape (knots, p + q).
        weight: Mean square of each feature in what they were learned from, shape (knots, p + q).
    """

    values: Floats
    weight: Floats

    def at_all_horizons(self) -> Floats:
        """Coefficients of each horizon, shape (384, p + q)."""
        horizons = np.arange(HORIZON)
        return np.stack([np.interp(horizons, KNOTS, column) for column in self.values.T], axis=1)


@dataclass(slots=True)
class NormalEquations:
    """Sums of ridge regressions, one a knot: rows may be added at any time.

    Attributes:
        gram: Shape (knots, k, k).
        right: Shape (knots, k).
        rows: Rows that were added, a knot.
    """

    gram: Floats
    right: Floats
    rows: Floats

    @classmethod
    def empty(cls, features: int) -> NormalEquations:
        """Equations without rows."""
        knots = len(KNOTS)
        return cls(np.zeros((knots, features, features)), np.zeros((knots, features)), np.zeros(knots))

    def add(self, history: IntensityHistory, t: Slots, before: int, after: int = 0) -> None:
        """Add the origins ``t`` at each knot whose target lies from ``after`` up to ``before``."""
        if not len(t):
            return
        origins = history.at_origins(t)
        for knot, h in enumerate(KNOTS):
            in_time = (t + h < before) & (t + h >= after)
            if not in_time.any():
                continue
            profile, own = history.at_horizon(origins, int(h))
            x = np.concatenate([origins.shared, own], axis=1)[in_time]
            target = (history.values[(t + h)[in_time]] - profile[in_time]) / origins.scale[in_time]
            self.gram[knot] += x.T @ x
            self.right[knot] += x.T @ target
            self.rows[knot] += in_time.sum()

    def plus(self, other: NormalEquations, sign: float = 1.0) -> NormalEquations:
        """These rows and those of another, or without them where the sign is -1."""
        return NormalEquations(
            self.gram + sign * other.gram, self.right + sign * other.right, self.rows + sign * other.rows
        )

    def bend(self, shipped: Coefficients, prior_rows: float = PRIOR_ROWS) -> Coefficients:
        """Coefficients nearest the shipped ones that fit the rows: ridge towards them."""
        values = shipped.values.copy()
        for knot in np.flatnonzero(self.rows):
            pull = np.diag(prior_rows * shipped.weight[knot])
            residual = self.right[knot] - self.gram[knot] @ shipped.values[knot]
            values[knot] += np.linalg.solve(pull + self.gram[knot], residual)
        return Coefficients(values, shipped.weight)


@dataclass(frozen=True, slots=True)
class NeighbourRegion:
    """Another region's series, to learn from beside the own past.

    Attributes:
        history: The series.
        offset: Its slot at the own series' first slot.
    """

    history: IntensityHistory
    offset: int

    def equations(self, until: int | None = None) -> NormalEquations:
        """All its rows, or those before a slot of the own series."""
        end = (
            len(self.history.values) if until is None else min(len(self.history.values), until + self.offset)
        )
        return _equations(self.history, own_origins(end), end)

    def equations_near(self, first: int, last: int) -> NormalEquations:
        """Rows with anything in three weeks around a stretch of the own series: they share its weather."""
        begin, end = first + self.offset - BLOCK, last + self.offset + HORIZON + BLOCK
        t = own_origins(len(self.history.values))
        near = t[(t > begin - HORIZON) & (t < end)]
        return _equations(self.history, near, len(self.history.values))


def _equations(history: IntensityHistory, t: Slots, before: int) -> NormalEquations:
    result = NormalEquations.empty(shipped()[0].values.shape[1])
    result.add(history, t, before)
    return result


def own_origins(before: int, after: int = 0) -> Slots:
    """Origins of a series' own past that are learned from."""
    first = max(LEAST_HISTORY, after)
    return np.arange(-(-first // OWN_STEP) * OWN_STEP, before, OWN_STEP)


@cache
def shipped() -> tuple[Coefficients, dict[str, Any]]:
    """The shipped coefficients, and the header that says what they were learned from."""
    with (
        data.resource("green/forecast.npz").open("rb") as stream,
        np.load(stream, allow_pickle=False) as arrays,
    ):
        found = Coefficients(arrays["values"].astype(np.float64), arrays["weight"].astype(np.float64))
    return found, json.loads(data.text("green/forecast.json"))
