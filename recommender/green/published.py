"""Forecasts of others: used where they are fresh, and scored beside ours."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from ingest.formats.intensity.table import IntensityTable
from recommender.green.history import DAY, SLOT_S, Floats
from recommender.green.series import IntensitySeries

FRESH_S = 86_400
"""Age up to which a published forecast is used: a choice. Even one that is issued once a day for the next
day has been replaced by then."""


@dataclass(frozen=True, slots=True, eq=False)
class PublishedForecast:
    """Forecasts of a service.

    Attributes:
        issued_s: Time of issue of each slot, Unix seconds; that of its first slot where the file does not
            say.
        times_s: Start of each slot, Unix seconds.
        g_per_kwh: Forecast of each slot.
        step_s: Length of a slot.
    """

    issued_s: Floats
    times_s: Floats
    g_per_kwh: Floats
    step_s: int = SLOT_S

    def ahead(self, now: datetime, slots: int) -> Floats:
        """The newest forecast issued by ``now`` for half hours from now's own on; nan where it has none."""
        result = np.full(slots, math.nan)
        moment = now.timestamp()
        usable = (self.issued_s <= moment) & (self.issued_s > moment - FRESH_S)
        if not usable.any():
            return result
        newest = usable & (self.issued_s == self.issued_s[usable].max())
        edges = SLOT_S * (math.floor(moment / SLOT_S) + np.arange(slots + 1))
        total, weight = np.zeros(slots), np.zeros(slots)
        for time, value in zip(self.times_s[newest].tolist(), self.g_per_kwh[newest].tolist(), strict=True):
            shared = np.minimum(edges[1:], time + self.step_s) - np.maximum(edges[:-1], time)
            total += np.maximum(shared, 0) * value
            weight += np.maximum(shared, 0)
        result[weight > 0] = total[weight > 0] / weight[weight > 0]
        return result

    def errors(self, series: IntensitySeries, most_days: int = 4) -> dict[str, float]:
        """Mean absolute error in per cent of what came, by days ahead, where the series covers it."""
        start = series.start.timestamp()
        slot = np.floor((self.times_s - start) / SLOT_S).astype(np.int64)
        known = (slot >= 0) & (slot < len(series.values))
        known[known] &= ~series.is_filled[slot[known]] & (series.values[slot[known]] > 0)
        ahead = np.floor((self.times_s - self.issued_s) / (SLOT_S * DAY)).astype(np.int64)
        found: dict[str, float] = {}
        for day in range(most_days):
            chosen = known & (ahead == day)
            if chosen.any():
                truth = series.values[slot[chosen]]
                found[f"{24 * day}-{24 * day + 24} h"] = float(
                    100 * np.mean(np.abs(self.g_per_kwh[chosen] - truth) / truth)
                )
        return found


def published_from(tables: Iterable[IntensityTable]) -> PublishedForecast | None:
    """The forecasts of placed tables; None if there are none."""
    issued: list[float] = []
    times: list[float] = []
    values: list[float] = []
    step = SLOT_S
    for table in tables:
        for made, (at, what) in table.issued.items():
            issued += [min(at) if made is None else made] * len(at)
            times += at
            values += what
            step = table.step_s
    if not times:
        return None
    return PublishedForecast(np.array(issued), np.array(times), np.array(values), step)
