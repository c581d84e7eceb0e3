"""Backtest: what plans would have kept over the past, beside simpler rules and the perfect forecast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from recommender.green.forecast import rolling
from recommender.green.history import DAY, MEMORY_DAYS, IntensityHistory
from recommender.green.placement import best_start, cheapest_slots
from recommender.green.promises import CAUTION, LEAST_SAVING, promise_record
from recommender.green.replanning import replan_split, replan_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recommender.green.coefficients import NeighbourRegion
    from recommender.green.history import Floats
    from recommender.green.series import IntensitySeries


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
    """One job of the past; savings are shares of what it would have emitted at once.

    Attributes:
        at_once: Sum of intensities if it starts at once.
        perfect: The least that was possible.
        promised: Saving that the forecast promised at its arrival, uncorrected.
        kept_once: Saving of the plan made at its arrival.
        kept_replanned: Saving of the plan made anew every half hour.
    """

    at_once: float
    perfect: float
    promised: float
    kept_once: float
    kept_replanned: float


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
        promised=1 - float(seen[once].sum()) / expected,
        kept_once=1 - float(truth[once].sum()) / at_once,
        kept_replanned=1 - float(truth[final].sum()) / at_once,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestResult:
    """What plans for one kind of job would have kept; all in per cent of what it emits at once.

    Attributes:
        region: Of the grid.
        jobs: Jobs simulated, one every few hours.
        perfect: Saving of the perfect forecast.
        replanned: Saving kept when planned anew every half hour, as ``green wait`` does.
        once: Saving kept by the plan made at arrival.
        floor: Saving kept by the profile of the last four weeks.
        promised: Saving promised at arrival, corrected.
        held: Share of jobs whose kept saving lay in the 90 % interval of the promise, per cent.
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
    held: float
    shifted: float
    dirtier: float

    @property
    def share_of_perfect(self) -> float:
        """Saving kept as a share of the possible one, per cent."""
        return 100 * self.replanned / self.perfect if self.perfect > 0 else 0.0

    def to_json(self) -> dict[str, object]:
        """The result for programs."""
        found: dict[str, object] = {
            name: round(getattr(self, name), 2)
            for name in ("perfect", "replanned", "once", "floor", "promised", "held", "shifted", "dirtier")
        }
        return {
            "region": self.region,
            "jobs": self.jobs,
            "saved_percent": found,
            "share_of_perfect": round(self.share_of_perfect, 1),
            "promise_gap": round(self.promised - self.replanned, 2),
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
    level = history.values[yesterday].mean() / before.mean()
    return np.asarray(profile * level)


def backtest(
    series: IntensitySeries, forecasts: ForecastTable, length: int, window: int, *, can_split: bool
) -> BacktestResult:
    """Simulate a job every few hours over the stretch that forecasts were made for."""
    values = series.values
    history = IntensityHistory(values, series.local_start)
    record = promise_record(
        can_split=can_split, will_replan=True, length=length, slack=max(1, window - length)
    )
    low, high = record.interval
    rows = []
    totals = np.zeros(5)
    for arrival in range(forecasts.first, len(values) - window, STEP):
        run = simulate(values, forecasts, arrival, length, arrival + window, can_split=can_split)
        recent = values[max(0, arrival - MEMORY_DAYS * DAY) : arrival]
        variation = float(recent.std() / recent.mean())
        promise = record.kept * max(0.0, run.promised)
        chance = record.chance_below(-promise / variation) if variation > 0 else 0.0
        waits = promise >= LEAST_SAVING and chance <= CAUTION
        kept, promise = (run.kept_replanned, promise) if waits else (0.0, 0.0)
        expected = floor_forecast(history, arrival, window)
        truth = values[arrival : arrival + window]
        if can_split:
            floor = truth[cheapest_slots(expected, length)].sum()
        else:
            begin = best_start(expected, length)
            floor = truth[begin : begin + length].sum()
        once = run.at_once
        totals += (once, run.perfect, once * (1 - kept), once * (1 - run.kept_once), floor)
        inside = not waits or low * variation <= kept - promise <= high * variation
        rows.append((promise * once, inside, waits and kept != 0, waits and kept < 0))
    table = np.array(rows, dtype=np.float64)
    saved = 100 * (1 - totals / totals[0])
    shifted = table[:, 2].sum()
    return BacktestResult(
        region=series.region,
        jobs=len(table),
        perfect=saved[1],
        replanned=saved[2],
        once=saved[3],
        floor=saved[4],
        promised=100 * table[:, 0].sum() / totals[0],
        held=100 * table[:, 1].mean(),
        shifted=100 * shifted / len(table),
        dirtier=100 * table[:, 3].sum() / max(1.0, shifted),
    )
