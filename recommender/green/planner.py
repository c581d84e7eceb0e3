"""Planning of a job on the expected intensity: where its pieces lie, and whether waiting is worth it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from recommender.green.history import SLOT_S, Floats, Slots
from recommender.green.outlook import GridOutlook
from recommender.green.placement import best_start, cheapest_pieces, cheapest_slots, pieces
from recommender.green.plan import GreenJob, GreenPlan, check
from recommender.green.promises import LEAST_SAVING, promise_record

_TIE = 1e-9
"""Relative difference of emissions below which the plan that begins now is taken."""


def make_plan(
    job: GreenJob,
    outlook: GridOutlook,
    now: datetime,
    *,
    region: str,
    will_replan: bool = False,
    is_running: bool = False,
    kept_here: float = 1.0,
) -> GreenPlan:
    """The cheapest plan for a job, or to start at once where waiting is not worth it.

    Args:
        job: The job.
        outlook: What is expected from ``now`` on.
        now: The present.
        region: Name of the region.
        will_replan: The plan is made anew every half hour, as ``green wait`` does.
        is_running: The job runs now, so that a pause costs a restart.
        kept_here: What earlier waits on this grid kept of one promised.

    Raises:
        InfeasibleError: The deadline has passed, or the job does not fit before it.
    """
    window = check(job, now)
    length = job.slots
    duration = timedelta(seconds=job.duration_s)
    at_once = ((now, now + duration),)

    def once(reason: str, mean: float | None = None) -> GreenPlan:
        return GreenPlan(
            region=region, now=now, job=job, pieces=at_once, reason=reason, once_g_per_kwh=mean,
            planned_g_per_kwh=mean, notes=outlook.notes,
        )  # fmt: skip

    if not len(outlook.g_per_kwh):
        return once(f"it starts at once: {outlook.basis}")
    priced = _PricedTime(now, outlook.g_per_kwh)
    if priced.length_s < job.duration_s:
        return once(f"it starts at once: the forecast ends after {priced.length_s / 3600:.1f} h")
    grams_once = priced.grams(at_once)
    mean_once = grams_once / job.duration_s
    if window < length:
        return once("it starts at once: the deadline leaves no room to wait", mean_once)
    spans, grams = _cheapest(job, priced, is_running=is_running)
    raw = 1 - grams / grams_once if grams_once > 0 else 0.0
    record = promise_record(
        can_split=job.can_split, will_replan=will_replan, length=length, slack=window - length
    )
    saving = kept_here * record.kept * max(0.0, raw)
    low, high = (min(1.0, saving + outlook.variation * edge) for edge in record.interval)
    dirtier = record.chance_below(-saving / outlook.variation) if outlook.variation > 0 else 0.0
    if spans == at_once:
        return once("no worthwhile shift: now is the cleanest time before the deadline", mean_once)
    if saving < LEAST_SAVING:
        reason = f"no worthwhile shift: no later time is expected to be {LEAST_SAVING:.1%} cleaner"
        return once(reason, mean_once)
    if dirtier > job.caution:
        return once(
            f"no worthwhile shift: {saving:.1%} expected, with a chance of {dirtier:.0%} to end dirtier",
            mean_once,
        )
    lasts_s = sum((end - begin).total_seconds() for begin, end in spans)
    return GreenPlan(
        region=region, now=now, job=job, pieces=spans, reason=f"cleanest by {outlook.basis}",
        once_g_per_kwh=mean_once, planned_g_per_kwh=grams / lasts_s, saving=saving, saving_low=low,
        saving_high=high, chance_dirtier=dirtier, notes=outlook.notes,
    )  # fmt: skip


_Spans = tuple[tuple["datetime", "datetime"], ...]


@dataclass(frozen=True, slots=True)
class _PricedTime:
    """Expected intensity over time; slots begin with the half hours of the clock.

    Attributes:
        now: The present, somewhere in the first slot.
        g_per_kwh: By slot.
    """

    now: datetime
    g_per_kwh: Floats

    @property
    def passed_s(self) -> float:
        """Seconds of the first slot that have passed."""
        return self.now.timestamp() % SLOT_S

    @property
    def length_s(self) -> float:
        """Seconds from now to the end of the forecast."""
        return len(self.g_per_kwh) * SLOT_S - self.passed_s

    def grams(self, spans: _Spans) -> float:
        """Emissions of a watt-thousand over some spans, in g/kWh times seconds."""
        sums = np.concatenate([[0.0], np.cumsum(self.g_per_kwh)]) * SLOT_S
        edges = np.arange(len(sums)) * SLOT_S - self.passed_s
        at = np.array([[(moment - self.now).total_seconds() for moment in span] for span in spans])
        until = np.interp(at, edges, sums)
        return float((until[:, 1] - until[:, 0]).sum())

    def rows(self) -> list[tuple[datetime, Floats]]:
        """Rows of half hours that a job may begin with, and their prices.

        One begins now; where that lies within a slot of the clock another begins with the next slot, so that
        a job can take a clean half hour whole.
        """
        share = self.passed_s / SLOT_S
        if not share:
            return [(self.now, self.g_per_kwh)]
        mixed = (1 - share) * self.g_per_kwh[:-1] + share * self.g_per_kwh[1:]
        return [(self.now, mixed), (self.now + timedelta(seconds=SLOT_S - self.passed_s), self.g_per_kwh[1:])]


def _cheapest(job: GreenJob, priced: _PricedTime, *, is_running: bool) -> tuple[_Spans, float]:
    """The spans of the cheapest plan, and what they emit."""
    spans: _Spans = ((priced.now, priced.now + timedelta(seconds=job.duration_s)),)
    grams = priced.grams(spans)
    for begin, price in priced.rows():
        count = min(len(price), int((job.deadline - begin).total_seconds() // SLOT_S))
        while count >= job.slots:
            slots = _place(price[:count], job, is_running=is_running and begin == priced.now)
            tried = _spans_of(slots, begin, job, paused_at=priced.now if is_running else None)
            late_s = (tried[-1][1] - job.deadline).total_seconds()
            late_s = max(late_s, (tried[-1][1] - priced.now).total_seconds() - priced.length_s)
            if late_s <= 0:
                emits = priced.grams(tried)
                if emits < grams * (1 - _TIE):
                    spans, grams = tried, emits
                break
            count -= -int(-late_s // SLOT_S)  # restarts need room before the deadline
    return spans, grams


def _place(price: Floats, job: GreenJob, *, is_running: bool) -> Slots:
    """Slots of the cheapest plan, exactly."""
    length = job.slots
    if not job.can_split:
        start = best_start(price, length)
        return np.arange(start, start + length)
    least = max(1, round(job.least_run_s / SLOT_S))
    if least == 1 and not job.restart_s:
        return cheapest_slots(price, length)
    restart = job.restart_s / SLOT_S * float(price.mean())
    return cheapest_pieces(price, length, least, restart, is_running=is_running)


def _spans_of(slots: Slots, begin: datetime, job: GreenJob, *, paused_at: datetime | None) -> _Spans:
    """Begin and end of each piece; every start but the first is longer by the work that it costs again.

    Args:
        slots: Of the work.
        begin: Of the first slot.
        job: The job.
        paused_at: Where the job runs now, the present: a first piece that begins later is a restart too.
    """
    restart = timedelta(seconds=job.restart_s)
    surplus = timedelta(seconds=job.slots * SLOT_S - job.duration_s)
    spans: list[tuple[datetime, datetime]] = []
    for first, count in pieces(slots):
        start, work = begin + timedelta(seconds=SLOT_S * first), timedelta(seconds=SLOT_S * count)
        if spans and start <= spans[-1][1]:  # the piece before is not done yet: they become one
            spans[-1] = (spans[-1][0], spans[-1][1] + work)
        else:
            is_restart = bool(spans) or (paused_at is not None and start > paused_at)
            spans.append((start, start + work + (restart if is_restart else timedelta())))
    spans[-1] = (spans[-1][0], spans[-1][1] - surplus)
    return tuple(spans)
