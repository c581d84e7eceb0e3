"""Grids made up for the tests: a day and a week, wind that comes and goes, and a seed."""

from datetime import UTC, datetime

import numpy as np

from recommender.green.history import DAY, Floats
from recommender.green.series import IntensitySeries

START = datetime(2026, 1, 5, tzinfo=UTC)


def grid_values(days: int, seed: int = 0) -> Floats:
    """Intensity with a daily and a weekly shape and slowly changing weather."""
    rng = np.random.default_rng(seed)
    slot = np.arange(days * DAY)
    wind = np.zeros(len(slot))
    for place in range(1, len(slot)):
        wind[place] = 0.99 * wind[place - 1] + rng.normal(0, 8)
    weekend = np.where(slot // DAY % 7 >= 5, -30, 0)
    return np.maximum(20.0, 300 + 60 * np.sin(slot * 2 * np.pi / DAY) + weekend + wind)


def grid(values: Floats, start: datetime = START) -> IntensitySeries:
    """A series of them."""
    return IntensitySeries(
        region="XX", start=start, values=values, is_filled=np.zeros(len(values), bool), kind="average"
    )
