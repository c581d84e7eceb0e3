"""The expected intensity of a grid from a moment on, and which forecast it rests on."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np

from recommender.green.coefficients import Coefficients, shipped
from recommender.green.forecast import forecast_at, padded
from recommender.green.history import DAY, HORIZON, MEMORY_DAYS, SLOT_S, Floats, IntensityHistory
from recommender.green.published import PublishedForecast
from recommender.green.series import IntensitySeries

STALE_SLOTS = 3 * DAY
"""Age of the last value from which only the daily profile is used."""

USELESS_SLOTS = MEMORY_DAYS * DAY
"""Age from which the series says nothing about today."""

_BRIDGE = 4
"""Half hours that a published forecast may leave out, at its beginning or between two values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridOutlook:
    """The intensity that is expected from a moment on.

    Attributes:
        g_per_kwh: By half hour from the moment's own slot on; empty where nothing can be said.
        variation: Standard deviation of the last weeks as a share of their mean.
        basis: What it rests on, in words; the reason where it is empty.
        age: Half hours between the last value of the series and the moment.
        is_modelled: Which half hours our own forecast is of, the daily profile excepted, shape (n,).
        notes: What to know about it.
    """

    g_per_kwh: Floats
    variation: float
    basis: str
    age: int = 0
    is_modelled: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    notes: tuple[str, ...] = ()


def outlook(
    series: IntensitySeries | None,
    now: datetime,
    *,
    coefficients: Coefficients | None = None,
    published: PublishedForecast | None = None,
) -> GridOutlook:
    """Expected intensity from ``now`` on: a published forecast where one is fresh, else our own.

    Values of the series from ``now`` on are not looked at: the clock may have been set back.
    """
    ours = _from_series(series, now, coefficients)
    theirs = np.full(0, np.nan) if published is None else _bridged(published.ahead(now, HORIZON))
    covered = ~np.isnan(theirs)
    if not covered.any():
        return ours
    hours = f"the published forecast for {int(covered.sum()) / 2:g} h"
    if not len(ours.g_per_kwh):
        theirs = theirs[: int(np.flatnonzero(~covered)[0])] if not covered.all() else theirs
        mean = float(theirs.mean()) if len(theirs) else 0.0
        return GridOutlook(
            g_per_kwh=theirs,
            variation=float(theirs.std() / mean) if mean > 0 else 0.0,
            basis=hours if len(theirs) else ours.basis,
            age=ours.age,
            is_modelled=np.zeros(len(theirs), dtype=bool),
            notes=(f"the published forecast alone: {ours.basis}; how far it is off is not known",),
        )
    count = len(ours.g_per_kwh)
    theirs, covered = theirs[:count], covered[:count]
    return GridOutlook(
        g_per_kwh=np.where(covered, theirs, ours.g_per_kwh),
        variation=ours.variation,
        basis=f"{hours}, then {ours.basis}",
        age=ours.age,
        is_modelled=ours.is_modelled & ~covered,
        notes=ours.notes,
    )


def _bridged(ahead: Floats) -> Floats:
    """A published forecast with the few half hours filled that it leaves out."""
    there = np.flatnonzero(~np.isnan(ahead))
    if not len(there) or there[0] > _BRIDGE:
        return ahead
    line = np.interp(np.arange(there[-1] + 1), there, ahead[there])
    for before, after in pairwise([-1, *there.tolist()]):
        if after - before - 1 <= _BRIDGE:
            ahead[before + 1 : after] = line[before + 1 : after]
    return ahead


def _from_series(
    series: IntensitySeries | None, now: datetime, coefficients: Coefficients | None
) -> GridOutlook:
    """Our own forecast; empty, with the reason, where the series says nothing about today."""
    if series is None:
        return _nothing("no series of this region has been imported")
    origin = series.slot_of(now)
    values = series.values[: max(0, origin)]
    age = origin - len(values)
    if len(values) < DAY:
        return _nothing("the series has less than a day before now")
    if age > USELESS_SLOTS:
        return _nothing(f"the series ended {age // DAY} days ago: nothing is known of today")
    recent = values[-USELESS_SLOTS:]
    variation = float(recent.std() / recent.mean()) if recent.mean() > 0 else 0.0
    notes: list[str] = []
    if age > STALE_SLOTS:
        days = recent[len(recent) % DAY :].reshape(-1, DAY)
        ahead = np.resize(days.mean(axis=0), HORIZON + age)[age:]
        notes.append(f"stale: the series ended {age // DAY} days ago; only its daily profile is used")
        return GridOutlook(
            g_per_kwh=ahead, variation=variation, basis="daily profile", age=age,
            is_modelled=np.zeros(len(ahead), dtype=bool), notes=tuple(notes),
        )  # fmt: skip
    long, before = padded(values)
    if before:
        notes.append(
            f"only {len(values) / DAY:.1f} days of history: shipped coefficients on its own days repeated"
        )
    history = IntensityHistory(long, series.local_start - timedelta(seconds=SLOT_S * before))
    t = np.array([len(long)])
    ahead = forecast_at(history, t, coefficients or shipped()[0])[0][age:]
    if age:
        notes.append(f"the newest value is {age / 2:g} h old")
    return GridOutlook(
        g_per_kwh=ahead,
        variation=variation,
        basis="own history" if coefficients is not None else "shipped coefficients",
        age=age,
        is_modelled=np.ones(len(ahead), dtype=bool),
        notes=tuple(notes),
    )


def _nothing(reason: str) -> GridOutlook:
    return GridOutlook(g_per_kwh=np.empty(0), variation=0.0, basis=reason)
