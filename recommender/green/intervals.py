"""Intervals of a forecast, from its own errors over the last weeks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recommender.green.coefficients import shipped
from recommender.green.forecast import forecast_at
from recommender.green.history import DAY, HORIZON, LEAST_HISTORY, Floats, IntensityHistory

if TYPE_CHECKING:
    from datetime import datetime

    from recommender.green.outlook import GridOutlook
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
    stored: StoredRegion, seen: GridOutlook, now: datetime
) -> tuple[Floats, Floats, dict[str, float]]:
    """Interval of our forecast, and its mean absolute error in per cent by days ahead, from the last weeks.

    Both are of our own forecast: nan where the outlook is somebody else's, nothing where it is the daily
    profile, or where the series has less than three weeks more than a forecast looks back on.
    """
    series = stored.series
    values = series.values[: max(0, series.slot_of(now))]
    first = max(LEAST_HISTORY, len(values) - (WINDOW_DAYS + 4) * DAY)
    t = np.arange(first, len(values), STEP)
    if len(t) * STEP < 21 * DAY or not seen.is_modelled.any():
        return np.empty(0), np.empty(0), {}
    history = IntensityHistory(values, series.local_start)
    forecasts = forecast_at(history, t, stored.coefficients or shipped()[0])
    target = t[:, None] + np.arange(HORIZON)
    truth = np.where(target < len(values), values[np.minimum(target, len(values) - 1)], np.nan)
    relative = np.divide(truth, forecasts, out=np.full_like(truth, np.nan), where=forecasts > 0)
    low, high = interval_factors(relative)
    horizons = slice(seen.age, seen.age + len(seen.g_per_kwh))  # a late series is forecast from its end on
    ours = np.where(seen.is_modelled, seen.g_per_kwh, np.nan)
    score = {}
    for begin, end in CLASSES:
        part, came = forecasts[:, begin:end], truth[:, begin:end]
        is_known = came > 0
        if is_known.any():
            score[f"{begin // 2}-{end // 2} h"] = float(
                100 * np.mean(np.abs(part[is_known] / came[is_known] - 1))
            )
    return ours * low[horizons], ours * high[horizons], score
