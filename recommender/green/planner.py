"""Planning of a job on a stored series: which forecast can be trusted now, and what it advises."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from recommender.green.coefficients import Coefficients, shipped
from recommender.green.forecast import forecast_at, padded
from recommender.green.history import DAY, HORIZON, MEMORY_DAYS, SLOT_S, IntensityHistory
from recommender.green.placement import pieces
from recommender.green.plan import GreenJob, GreenPlan, check, place
from recommender.green.promises import CAUTION, LEAST_SAVING, promise_record

if TYPE_CHECKING:
    from datetime import datetime

    from recommender.green.history import Floats
    from recommender.green.published import PublishedForecast
    from recommender.green.series import IntensitySeries

STALE_SLOTS = 3 * DAY
"""Age of the last value from which only the daily profile is used."""

USELESS_SLOTS = MEMORY_DAYS * DAY
"""Age from which the series says nothing about today."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridOutlook:
    """The intensity that is expected from a moment on.

    Attributes:
        g_per_kwh: By half hour from the moment's own slot on; empty where nothing can be said.
        variation: Standard deviation of the last weeks as a share of their mean.
        basis: What it rests on, in words; the reason where it is empty.
        notes: What to know about it.
    """

    g_per_kwh: Floats
    variation: float
    basis: str
    notes: tuple[str, ...] = ()


def outlook(
    series: IntensitySeries | None,
    now: datetime,
    *,
    coefficients: Coefficients | None = None,
    published: PublishedForecast | None = None,
) -> GridOutlook:
    """What is expected from ``now`` on: somebody's forecast where there is a fresh one, else our own.

    Values of the series from ``now`` on are not looked at: the clock may have been set back.
    """
    nothing = np.empty(0)
    if series is None:
        return GridOutlook(
            g_per_kwh=nothing, variation=0.0, basis="no series of this region has been imported"
        )
    origin = series.slot_of(now)
    values = series.values[: max(0, origin)]
    age = origin - len(values)
    if len(values) < DAY:
        return GridOutlook(
            g_per_kwh=nothing, variation=0.0, basis="the series has less than a day before now"
        )
    if age > USELESS_SLOTS:
        return GridOutlook(
            g_per_kwh=nothing,
            variation=0.0,
            basis=f"the series ended {age // DAY} days ago: nothing is known of today",
        )
    recent = values[-USELESS_SLOTS:]
    variation = float(recent.std() / recent.mean()) if recent.mean() > 0 else 0.0
    notes: list[str] = []
    if age > STALE_SLOTS:
        days = recent[len(recent) % DAY :].reshape(-1, DAY)
        ahead = np.resize(days.mean(axis=0), HORIZON + age)[age:]
        notes.append(f"stale: the series ended {age // DAY} days ago; only its daily profile is used")
        return GridOutlook(g_per_kwh=ahead, variation=variation, basis="daily profile", notes=tuple(notes))
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
    basis = "own history" if coefficients is not None else "shipped coefficients"
    if published is not None:
        theirs = published.ahead(now, len(ahead))
        covered = ~np.isnan(theirs)
        if covered.any():
            ahead = np.where(covered, theirs, ahead)
            basis = f"the published forecast for {int(covered.sum()) / 2:g} h, then {basis}"
    return GridOutlook(g_per_kwh=ahead, variation=variation, basis=basis, notes=tuple(notes))


def make_plan(
    job: GreenJob,
    seen: GridOutlook,
    now: datetime,
    *,
    region: str,
    will_replan: bool = True,
    caution: float = CAUTION,
) -> GreenPlan:
    """The cheapest plan for a job, or to start at once where waiting is not worth it.

    Args:
        job: The job.
        seen: What is expected from ``now`` on.
        now: The present.
        region: Name of the region.
        will_replan: The plan is made anew every half hour, as ``green wait`` does.
        caution: Greatest chance of ending dirtier than at once with which it waits.

    Raises:
        InfeasibleError: The deadline has passed, or the job does not fit before it.
    """
    window = check(job, now)
    step = timedelta(seconds=SLOT_S)
    length = job.slots
    at_once = ((now, now + timedelta(seconds=job.duration_s)),)

    def once(reason: str, mean: float | None = None) -> GreenPlan:
        return GreenPlan(
            region=region, now=now, job=job, pieces=at_once, reason=reason, once_g_per_kwh=mean,
            planned_g_per_kwh=mean, notes=seen.notes,
        )  # fmt: skip

    if not len(seen.g_per_kwh):
        return once(f"it starts at once: {seen.basis}")
    price = seen.g_per_kwh[: max(window, length)]
    if len(price) < length:
        return once(f"it starts at once: the forecast ends after {len(seen.g_per_kwh) / 2:g} h")
    mean_once = float(price[:length].mean())
    if window < length:
        return once("it starts at once: the deadline leaves no room to wait", mean_once)
    slots = place(price, job)
    mean = float(price[slots].mean())
    raw = 1 - mean / mean_once if mean_once > 0 else 0.0
    record = promise_record(
        can_split=job.can_split, will_replan=will_replan, length=length, slack=window - length
    )
    saving = record.kept * max(0.0, raw)
    low, high = (saving + seen.variation * edge for edge in record.interval)
    dirtier = record.chance_below(-saving / seen.variation) if seen.variation > 0 else 0.0
    if slots[-1] < length:
        return once("no worthwhile shift: now is the cleanest time before the deadline", mean_once)
    if saving < LEAST_SAVING:
        reason = f"no worthwhile shift: no later time is expected to be {LEAST_SAVING:.1%} cleaner"
        return once(reason, mean_once)
    if dirtier > caution:
        return once(
            f"no worthwhile shift: {saving:.1%} expected, with a chance of {dirtier:.0%} to end dirtier",
            mean_once,
        )
    spans = [(now + step * begin, now + step * (begin + count)) for begin, count in pieces(slots)]
    surplus = timedelta(seconds=length * SLOT_S - job.duration_s)
    spans[-1] = (spans[-1][0], spans[-1][1] - surplus)
    return GreenPlan(
        region=region, now=now, job=job, pieces=tuple(spans), reason=f"cleanest by {seen.basis}",
        once_g_per_kwh=mean_once, planned_g_per_kwh=mean, saving=saving, saving_low=low, saving_high=high,
        chance_dirtier=dirtier, notes=seen.notes,
    )  # fmt: skip
