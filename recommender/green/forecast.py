"""Forecasts of carbon intensity from a series' own past, eight days ahead in slots of half an hour."""

from collections.abc import Iterator, Sequence

import numpy as np

from recommender.green.coefficients import (
    Coefficients,
    NeighbourRegion,
    NormalEquations,
    own_origins,
    shipped,
)
from recommender.green.history import DAY, HORIZON, LEAST_HISTORY, Floats, IntensityHistory, Slots

REFIT = 28 * DAY
"""Slots after which a series' own past is learned from again."""

_CHUNK = 2048
"""Origins that are forecast at a time, which bounds the memory."""

_LEAST_SHARE = 0.05
"""Least forecast as a share of the level: a straight line may fall below what a grid can reach."""


def forecast_at(history: IntensityHistory, t: Slots, coefficients: Coefficients) -> Floats:
    """Forecasts from origins, g/kWh, shape (n, 384); the first column is the origin's own slot.

    Args:
        history: The series; its values from an origin on are not looked at.
        t: Origins, each with ``LEAST_HISTORY`` slots before it.
        coefficients: As for the time of the origins.
    """
    by_horizon = coefficients.at_all_horizons()
    result = np.empty((len(t), HORIZON))
    for begin in range(0, len(t), _CHUNK):
        origins = history.at_origins(t[begin : begin + _CHUNK])
        width = origins.shared.shape[1]
        ahead = origins.shared @ by_horizon[:, :width].T
        for h in range(HORIZON):
            profile, own = history.at_horizon(origins, h)
            ahead[:, h] = profile + origins.scale * (ahead[:, h] + own @ by_horizon[h, width:])
        level = origins.level[:, None]  # zero after weeks of nothing but zeros: so is the forecast
        result[begin : begin + _CHUNK] = np.where(level > 0, np.maximum(ahead, _LEAST_SHARE * level), 0.0)
    return result


def rolling(
    history: IntensityHistory, first: int, last: int, neighbours: Sequence[NeighbourRegion] = ()
) -> Iterator[tuple[Slots, Floats]]:
    """Forecasts from every slot of ``first`` to ``last``, the latter excluded, as they would have been made.

    Before each stretch of four weeks the coefficients learn from the past of its first origin. Of neighbours
    they learn from all but the weeks around the stretch, whose weather they share.

    Yields:
        Origins and their forecasts, a stretch at a time.
    """
    base, _ = shipped()
    own = NormalEquations.empty(base.values.shape[1])
    others = [(neighbour, neighbour.equations()) for neighbour in neighbours]
    learned = 0
    for begin in range(first, last, REFIT):
        end = min(begin + REFIT, last)
        own.add(history, own_origins(begin), begin, learned)
        learned = begin
        rows = own
        for neighbour, everything in others:
            rows = rows.plus(everything).plus(neighbour.equations_near(begin, end), -1.0)
        t = np.arange(begin, end)
        yield t, forecast_at(history, t, rows.bend(base))


def learn(history: IntensityHistory, now: int, neighbours: Sequence[NeighbourRegion] = ()) -> Coefficients:
    """Coefficients for forecasts from slot ``now``: shipped, bent by its own and its neighbours' past."""
    base, _ = shipped()
    rows = NormalEquations.empty(base.values.shape[1])
    rows.add(history, own_origins(now), now)
    for neighbour in neighbours:
        rows = rows.plus(neighbour.equations(now))
    return rows.bend(base)


def padded(values: Floats) -> tuple[Floats, int]:
    """A series with enough history to forecast from, and how many slots were put before it.

    A short one is continued backwards by its own days.

    Raises:
        ValueError: It has less than a day.
    """
    missing = max(0, LEAST_HISTORY + DAY - len(values))
    if not missing:
        return values, 0
    days = len(values) // DAY
    if not days:
        raise ValueError("less than a day of history")
    own = values[: days * DAY]
    copies = -(-missing // len(own))
    return np.concatenate([np.tile(own, copies), values]), copies * len(own)
