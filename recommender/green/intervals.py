"""Intervals of a forecast, from its own errors over the last weeks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recommender.green.coefficients import shipped
from recommender.green.forecast import forecast_at
from recommender.green.history import DAY, HORIZON, LEAST_HISTORY, Floats, IntensityHistory

if TYPE_CHECKING:
    from datetime import datetime

    from recommender.green.shelf import StoredRegion

WINDOW_DAYS = 60
STEP = 11
"""Slots between the origins whose errors are looked at; every hour of the day is met."""

CLASSES = ((0, DAY), (DAY, 2 * DAY), (2 * DAY, 4 * DAY), (4 * DAY, HORIZON))
"""Horizons that share the width of an interval's correction."""

COVER = 0.9


def interval_factors(relative: Floats, cover: float = COVER) -> tuple[Floats, Floats]:
    """Factors on a forecast that hold ``cover`` of the outcomes, by horizon.

    Args:
        relative: Outcome over forecast, shape (origins, horizons); nan where it is not known yet.
        cover: Share to be held.

    Quantiles are taken over a few neighbouring horizons, with the margin that makes split-conformal
    intervals hold for finitely many, correlated errors: origins of one day count as one.
    """
    origins, horizons = relative.shape
    effective = max(4.0, origins * STEP / DAY)
    tail = max(0.0, (1 - cover) / 2 - 0.5 / effective)
    low, high = np.empty(horizons), np.empty(horizons)
    for h in range(horizons):
        reach = 1 + h // 16
        near = relative[:, max(0, h - reach) : h + reach + 1]
        near = near[~np.isnan(near)]
        if not len(near):
            low[h:], high[h:] = low[h - 1], high[h - 1]
            break
        low[h], high[h] = np.quantile(near, [tail, 1 - tail])
    return low, high


def recent_errors(
    stored: StoredRegion, ahead: Floats, now: datetime
) -> tuple[Floats, Floats, dict[str, float]]:
    """Interval of a forecast, and mean absolute error in per cent by days ahead, from the last weeks.

    Empty where the series has less than three weeks more than a forecast looks back on.
    """
    series = stored.series
    values = series.values[: max(0, series.slot_of(now))]
    first = max(LEAST_HISTORY, len(values) - (WINDOW_DAYS + 4) * DAY)
    t = np.arange(first, len(values), STEP)
    if len(t) * STEP < 21 * DAY:
        return np.empty(0), np.empty(0), {}
    history = IntensityHistory(values, series.local_start)
    forecasts = forecast_at(history, t, stored.coefficients or shipped()[0])
    target = t[:, None] + np.arange(HORIZON)
    truth = np.where(target < len(values), values[np.minimum(target, len(values) - 1)], np.nan)
    relative = truth / forecasts
    low, high = interval_factors(relative)
    count = len(ahead)
    score = {}
    for begin, end in CLASSES:
        part = np.abs(1 / relative[:, begin:end] - 1)
        if np.isfinite(part).any():
            score[f"{begin // 2}-{end // 2} h"] = float(100 * np.nanmean(part))
    return ahead * low[:count], ahead * high[:count], score
