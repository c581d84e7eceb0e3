"""Features of the past of a carbon intensity series, for forecasts from any of its slots.

Notation: v: intensity by slot of half an hour; t: origins, the first slots that are not known, shape (n,);
h: slots ahead of an origin, 0 for the origin itself; u = t + h: slots that are forecast. A feature at t uses
v[:t] alone, so nothing after an origin moves its forecast.
"""

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Slots = NDArray[np.int64]

SLOT_S = 1800
DAY = 48
WEEK = 7 * DAY
HORIZON = 8 * DAY
MEMORY_DAYS = 28
"""Length of the daily profile; all of the series where it is shorter."""

LEAST_HISTORY = WEEK + DAY
"""Slots before an origin that the features look at."""

_LAGS = (
    *((k, k + 1) for k in range(1, 9, 2)),
    *((k, k + 3) for k in range(9, 2 * DAY + 1, 4)),
    *((k, k + 11) for k in range(2 * DAY + 1, WEEK + 1, 12)),
)
"""First and last slot before the origin of each mean of the last week, finer where it is fresher."""

_WEEKDAYS = (5, 6, 0, 4)
"""Days with a flag of their own: Saturday, Sunday and the days beside the weekend."""

_FLOOR = 0.01
"""Least scale of a series as a share of its level: a flat one has none."""


@dataclass(frozen=True, slots=True)
class OriginFeatures:
    """The features that all horizons of some origins share.

    Attributes:
        t: The origins, shape (n,).
        level: Mean of the last weeks, shape (n,).
        scale: Standard deviation of them, shape (n,); forecasts are made in its unit.
        profile: Daily profile of the last weeks, from the origin's slot of the day on, shape (n, 48).
        shared: Features, shape (n, p).
    """

    t: Slots
    level: Floats
    scale: Floats
    profile: Floats
    shared: Floats


class IntensityHistory:
    """A series prepared for features: sums over days and weeks, each value once.

    Args:
        values: Intensity by slot, positive; nothing from the first origin on is looked at.
        start: Local time of the first slot.
    """

    def __init__(self, values: Floats, start: datetime) -> None:
        self.values = values
        self._slot = (start.hour * 60 + start.minute) // 30
        self._weekday = start.weekday()
        self._sum = np.concatenate([[0.0], np.cumsum(values)])
        self._squares = np.concatenate([[0.0], np.cumsum(values * values)])
        self._by_day = _strided_sum(values, DAY)
        self._by_week = _strided_sum(values, WEEK)

    def _mean_at(self, sums: Floats, stride: int, t: Slots, u: Slots, most: int) -> Floats:
        """Mean of the last ``most`` known values at the time of day or week of ``u``."""
        newest = u - ((u - t) // stride + 1) * stride
        count = np.minimum(most, newest // stride + 1)
        oldest = newest - count * stride
        before = np.where(oldest >= 0, sums[np.maximum(oldest, 0)], 0.0)
        return np.asarray((sums[newest] - before) / count)

    def daily(self, t: Slots, u: Slots, days: int) -> Floats:
        """Mean at the time of day of ``u`` over the last days before ``t``."""
        return self._mean_at(self._by_day, DAY, t, u, days)

    def weekly(self, t: Slots, u: Slots, weeks: int) -> Floats:
        """Mean at the time of week of ``u`` over the last weeks before ``t``."""
        return self._mean_at(self._by_week, WEEK, t, u, weeks)

    def time_of_day(self, u: Slots) -> Floats:
        """Angle of the day, radian."""
        return np.asarray((u + self._slot) % DAY * (2 * np.pi / DAY))

    def weekday(self, u: Slots) -> Slots:
        """Day of the week of slots, 0 on Monday."""
        return np.asarray(((u + self._slot) // DAY + self._weekday) % 7)

    def at_origins(self, t: Slots) -> OriginFeatures:
        """The shared features of origins, each of which has ``LEAST_HISTORY`` slots before it."""
        count = np.minimum(t, MEMORY_DAYS * DAY)
        level = (self._sum[t] - self._sum[t - count]) / count
        variance = (self._squares[t] - self._squares[t - count]) / count - level * level
        scale = np.sqrt(np.maximum(variance, (_FLOOR * level) ** 2))
        scale = np.where(scale > 0, scale, 1.0)  # weeks of nothing but zeros: every difference is zero too
        profile = np.stack([self.daily(t, t + j, MEMORY_DAYS) for j in range(DAY)], axis=1)
        back = np.arange(1, WEEK + 1)
        z = (self.values[t[:, None] - back] - profile[:, -back % DAY]) / scale[:, None]
        sums = np.concatenate([np.zeros((len(t), 1)), np.cumsum(z, axis=1)], axis=1)

        def mean(first: int, last: int) -> Floats:
            return np.asarray((sums[:, last] - sums[:, first - 1]) / (last - first + 1))

        angle = self.time_of_day(t)
        recent = (mean(1, 2), mean(1, 12), mean(1, DAY), mean(1, 4) - mean(5, 12))
        columns = [np.ones(len(t)), *(mean(first, last) for first, last in _LAGS)]
        for wave in (1, 2, 3):
            for turn in (np.sin(wave * angle), np.cos(wave * angle)):
                columns += [turn, *(turn * item for item in recent)]
        return OriginFeatures(t, level, scale, profile, np.stack(columns, axis=1))

    def at_horizon(self, origins: OriginFeatures, h: int) -> tuple[Floats, Floats]:
        """Profile at ``h`` slots ahead, shape (n,), and the features of that horizon, shape (n, q)."""
        t, u = origins.t, origins.t + h
        profile = origins.profile[:, h % DAY]
        newest = u - (h // DAY + 1) * DAY
        others = (
            self.daily(t, u, 7),
            self.daily(t, u, 3),
            self.values[newest],
            self.values[newest - DAY],
            self.weekly(t, u, 1),
            self.weekly(t, u, 4),
        )
        columns = [
            (profile - origins.level) / origins.scale,
            *((item - profile) / origins.scale for item in others),
        ]
        angle, weekday = self.time_of_day(u), self.weekday(u)
        sine, cosine = np.sin(angle), np.cos(angle)
        for day in _WEEKDAYS:
            flag = (weekday == day).astype(np.float64)
            columns += [flag, flag * sine, flag * cosine]
        return profile, np.stack(columns, axis=1)


def _strided_sum(values: Floats, stride: int) -> Floats:
    """Sums of each value with those a whole number of strides before it."""
    padded = np.concatenate([values, np.zeros(-len(values) % stride)])
    return np.asarray(np.cumsum(padded.reshape(-1, stride), axis=0).ravel()[: len(values)])
