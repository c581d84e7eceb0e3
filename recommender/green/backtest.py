"""Backtest: what plans would have kept over the past, beside simpler rules and the perfect forecast."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from recommender.green.coefficients import NeighbourRegion
from recommender.green.forecast import rolling
from recommender.green.history import DAY, MEMORY_DAYS, Floats, IntensityHistory, Slots
from recommender.green.placement import best_start, cheapest_slots
from recommender.green.promises import CAUTION, promise_record
from recommender.green.series import IntensitySeries

_TIE = 1e-9
"""Relative difference of prices below which the earlier slot is taken."""


class Forecasts(Protocol):
    """Forecasts from every origin of a stretch of a series."""

    def ahead(self, origin: int) -> Floats | NDArray[np.float32]:
        """Forecast from a slot on, the slot itself first."""

    def sums(self, origin: int) -> Floats | NDArray[np.float32]:
        """Running sums of :meth:`ahead`, beginning with zero."""


def runs_now(price: Floats | NDArray[np.float32], length: int) -> bool:
    """True if the first slot is among the ``length`` cheapest."""
    limit = price[0] * (1 - _TIE)
    return bool(np.count_nonzero(price[1:] < limit) < length)


def starts_now(sums: Floats | NDArray[np.float32], length: int) -> bool:
    """True if the first of all runs of ``length`` slots is the cheapest, from running sums of prices."""
    windows = sums[length:] - sums[: len(sums) - length]
    return bool(windows[0] * (1 - _TIE) <= windows.min())


def replan_whole(forecasts: Forecasts, arrival: int, length: int, deadline: int) -> int:
    """Start of a job that runs in one piece, decided anew before every slot.

    Args:
        forecasts: From each slot of the wait.
        arrival: First slot in which it may run.
        length: Slots of work.
        deadline: Slot before which it must be done.
    """
    for slot in range(arrival, deadline - length):
        if starts_now(forecasts.sums(slot)[: deadline - slot + 1], length):
            return slot
    return deadline - length


def replan_split(forecasts: Forecasts, arrival: int, length: int, deadline: int) -> Slots:
    """Slots of a job that may be interrupted, decided anew before every slot."""
    chosen: list[int] = []
    for slot in range(arrival, deadline):
        left = length - len(chosen)
        if left == deadline - slot:
            chosen += range(slot, deadline)
            break
        if runs_now(forecasts.ahead(slot)[: deadline - slot], left):
            chosen.append(slot)
            if len(chosen) == length:
                break
    return np.array(chosen, dtype=np.int64)


class ForecastTable:
    """Forecasts from every slot of a stretch.

    Args:
        first: The first origin.
        values: Forecasts, shape (origins, horizons).
    """

    def __init__(self, first: int, values: NDArray[np.float32] | Floats) -> None:
        self.first = first
        self.values = values
        self._sums = np.concatenate(
            [np.zeros((len(values), 1)), np.cumsum(values, axis=1, dtype=np.float64)], axis=1
        )

    @classmethod
    def rolling(
        cls, history: IntensityHistory, first: int, last: int, neighbours: Sequence[NeighbourRegion] = ()
    ) -> Self:
        """Our forecasts as they would have been made from ``first`` to ``last``."""
        parts = [ahead.astype(np.float32) for _, ahead in rolling(history, first, last, neighbours)]
        return cls(first, np.concatenate(parts))

    def ahead(self, origin: int) -> NDArray[np.float32] | Floats:
        """Forecast from a slot on."""
        found: Floats = self.values[origin - self.first]
        return found

    def sums(self, origin: int) -> Floats:
        """Running sums of it, beginning with zero."""
        found: Floats = self._sums[origin - self.first]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedJob:
    """One job of the past; emissions are sums of intensities over its slots.

    Attributes:
        at_once: If it starts at once.
        perfect: The least that was possible.
        once: By the plan made at its arrival.
        replanned: By the plan made anew every half hour.
        promised: Share that the forecast promised to save at its arrival, uncorrected.
    """

    at_once: float
    perfect: float
    once: float
    replanned: float
    promised: float

    def saving(self, emitted: float) -> float:
        """Share of the emissions at once that was saved; 0 where there were none to save."""
        return 1 - emitted / self.at_once if self.at_once > 0 else 0.0


def simulate(
    values: Floats, forecasts: ForecastTable, arrival: int, length: int, deadline: int, *, can_split: bool
) -> SimulatedJob:
    """Run one job through the past.

    Args:
        values: What came.
        forecasts: What was expected.
        arrival: First slot in which it may run.
        length: Slots of work.
        deadline: Slot before which it must be done.
        can_split: It may be interrupted.
    """
    truth = values[arrival:deadline]
    seen = forecasts.ahead(arrival)[: deadline - arrival].astype(np.float64)
    at_once = float(truth[:length].sum())
    if can_split:
        best, once = cheapest_slots(truth, length), cheapest_slots(seen, length)
        final = replan_split(forecasts, arrival, length, deadline) - arrival
    else:
        run = np.arange(length)
        best, once = run + best_start(truth, length), run + best_start(seen, length)
        final = run + replan_whole(forecasts, arrival, length, deadline) - arrival
    expected = float(seen[:length].sum())
    return SimulatedJob(
        at_once=at_once,
        perfect=float(truth[best].sum()),
        once=float(truth[once].sum()),
        replanned=float(truth[final].sum()),
        promised=1 - float(seen[once].sum()) / expected if expected > 0 else 0.0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestResult:
    """Result of plans for one kind of job in the past, in per cent of what it emits at once.

    Attributes:
        region: Of the grid.
        jobs: Jobs simulated, one every few hours.
        perfect: Saving of the perfect forecast.
        replanned: Saving kept when planned anew every half hour, as ``green wait`` does.
        once: Saving kept by the plan made at arrival, as ``green plan`` and hand-overs give it.
        floor: Saving kept by the profile of the last four weeks.
        promised: Saving that ``green wait`` promised at arrival, corrected.
        promised_once: Saving that ``green plan`` promised.
        held: Share of the jobs with a promise whose saving lay in its 90 % interval, per cent; None if there
            were none.
        shifted: Share of jobs that were not run at once, per cent.
        dirtier: Share of those that emitted more than at once, per cent.
    """

    region: str
    jobs: int
    perfect: float
    replanned: float
    once: float
    floor: float
    promised: float
    promised_once: float
    held: float | None
    shifted: float
    dirtier: float

    @property
    def share_of_perfect(self) -> float:
        """Saving kept as a share of the possible one, per cent."""
        return 100 * self.replanned / self.perfect if self.perfect > 0 else 0.0

    def to_json(self) -> dict[str, object]:
        """The result for programs."""
        names = (
            "perfect", "replanned", "once", "floor", "promised", "promised_once", "held", "shifted", "dirtier"
        )  # fmt: skip
        found: dict[str, object] = {
            name: None if (value := getattr(self, name)) is None else round(value, 2) for name in names
        }
        return {
            "region": self.region,
            "jobs": self.jobs,
            "saved_percent": found,
            "share_of_perfect": round(self.share_of_perfect, 1),
            "promise_gap": round(self.promised - self.replanned, 2),
            "promise_gap_once": round(self.promised_once - self.once, 2),
        }


STEP = 14
"""Slots between simulated jobs: a start every seven hours."""


def floor_forecast(history: IntensityHistory, origin: int, slots: int) -> Floats:
    """Profile of the last four weeks by hour of the week, at the level of the last day."""
    t = np.full(slots, origin)
    u = origin + np.arange(slots)
    profile = history.weekly(t, u, 4)
    yesterday = np.arange(origin - DAY, origin)
    before = history.weekly(np.full(DAY, origin - DAY), yesterday, 4)
    level = history.values[yesterday].mean() / before.mean() if before.any() else 1.0
    return np.asarray(profile * level)


def backtest(
    series: IntensitySeries,
    forecasts: ForecastTable,
    length: int,
    window: int,
    *,
    can_split: bool,
    caution: float = CAUTION,
) -> BacktestResult:
    """Simulate a job every few hours over the stretch that forecasts were made for."""
    values = series.values
    history = IntensityHistory(values, series.local_start)
    again, single = (
        promise_record(
            can_split=can_split, will_replan=will_replan, length=length, slack=max(1, window - length)
        )
        for will_replan in (True, False)
    )
    low, high = again.interval
    rows = []
    for arrival in range(forecasts.first, len(values) - window, STEP):
        run = simulate(values, forecasts, arrival, length, arrival + window, can_split=can_split)
        recent = values[max(0, arrival - MEMORY_DAYS * DAY) : arrival]
        variation = float(recent.std() / recent.mean()) if recent.any() else 0.0
        promise, promise_once = (record.worth(run.promised, variation, caution) for record in (again, single))
        emitted = run.replanned if promise else run.at_once
        expected = floor_forecast(history, arrival, window)
        truth = values[arrival : arrival + window]
        if can_split:
            floor = truth[cheapest_slots(expected, length)].sum()
        else:
            begin = best_start(expected, length)
            floor = truth[begin : begin + length].sum()
        held = low * variation <= run.saving(emitted) - promise <= high * variation
        rows.append(
            (
                run.at_once, run.perfect, emitted, run.once if promise_once else run.at_once, floor,
                promise * run.at_once, promise_once * run.at_once,
                promise > 0, promise > 0 and held, emitted != run.at_once, emitted > run.at_once,
            )
        )  # fmt: skip
    totals = np.array(rows, dtype=np.float64).sum(axis=0)
    base = totals[0] if totals[0] > 0 else 1.0
    saved = 100 * (totals[0] - totals[1:5]) / base
    promised, promised_once = 100 * totals[5:7] / base
    with_promise, held_jobs, shifted, dirtier = totals[7:]
    return BacktestResult(
        region=series.region,
        jobs=len(rows),
        perfect=saved[0],
        replanned=saved[1],
        once=saved[2],
        floor=saved[3],
        promised=promised,
        promised_once=promised_once,
        held=100 * held_jobs / with_promise if with_promise else None,
        shifted=100 * shifted / len(rows),
        dirtier=100 * dirtier / max(1.0, shifted),
    )
