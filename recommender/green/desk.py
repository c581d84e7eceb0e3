"""The green side of a workspace: import series, plan, wait, forecast, look back; needs no graph."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Self

import numpy as np

from kg.errors import InputError, NoEvidenceError
from recommender.files import WorkspaceFiles
from recommender.green.coefficients import shipped
from recommender.green.forecast import forecast_at
from recommender.green.history import DAY, HORIZON, LEAST_HISTORY, SLOT_S, Floats, IntensityHistory
from recommender.green.outlook import outlook
from recommender.green.planner import make_plan
from recommender.green.promises import CAUTION
from recommender.green.shelf import GreenShelf, StoredRegion
from recommender.green.waiting.outcome import WaitOutcome, WaitRecord, record_of
from recommender.green.waiting.waiter import Clocks, Waiter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from recommender.green.backtest import BacktestResult
    from recommender.green.outlook import GridOutlook
    from recommender.green.plan import GreenJob, GreenPlan
    from recommender.green.shelf import StoredRegion
    from recommender.green.statement import CarbonStatement
    from recommender.green.waiting.waiter import WaitRequest


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
    stored: StoredRegion, outlook: GridOutlook, now: datetime
) -> tuple[Floats, Floats, dict[str, float]]:
    """Interval of our forecast, and its mean absolute error in per cent by days ahead, from the last weeks.

    Both are of our own forecast: nan where the outlook is somebody else's, nothing where it is the daily
    profile, or where the series has less than three weeks more than a forecast looks back on.
    """
    series = stored.series
    values = series.values[: max(0, series.slot_of(now))]
    first = max(LEAST_HISTORY, len(values) - (WINDOW_DAYS + 4) * DAY)
    t = np.arange(first, len(values), STEP)
    if len(t) * STEP < 21 * DAY or not outlook.is_modelled.any():
        return np.empty(0), np.empty(0), {}
    history = IntensityHistory(values, series.local_start)
    forecasts = forecast_at(history, t, stored.coefficients or shipped()[0])
    target = t[:, None] + np.arange(HORIZON)
    truth = np.where(target < len(values), values[np.minimum(target, len(values) - 1)], np.nan)
    relative = np.divide(truth, forecasts, out=np.full_like(truth, np.nan), where=forecasts > 0)
    low, high = interval_factors(relative)
    horizons = slice(outlook.age, outlook.age + len(outlook.g_per_kwh))  # a late series: from its end on
    ours = np.where(outlook.is_modelled, outlook.g_per_kwh, np.nan)
    score = {}
    for begin, end in CLASSES:
        part, came = forecasts[:, begin:end], truth[:, begin:end]
        is_known = came > 0
        if is_known.any():
            score[f"{begin // 2}-{end // 2} h"] = float(
                100 * np.mean(np.abs(part[is_known] / came[is_known] - 1))
            )
    return ours * low[horizons], ours * high[horizons], score


_IMPORT = "tunegraph green import FILE --region NAME"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionForecast:
    """A forecast for people and programs.

    Attributes:
        region: Of the grid.
        start: Start of the first half hour.
        outlook: What is expected.
        low: Lower ends of 90 % intervals; empty where the past is too short, nan where the forecast is
            somebody else's.
        high: Upper ends.
        score: Mean absolute error in per cent over the last weeks, ours by days ahead.
        published_score: The same of the published forecast.
    """

    region: str
    start: datetime
    outlook: GridOutlook
    low: np.ndarray
    high: np.ndarray
    score: dict[str, float]
    published_score: dict[str, float]

    def has_interval(self, slot: int) -> bool:
        """True if the interval of a half hour is known."""
        return len(self.low) > 0 and not math.isnan(self.low[slot])

    def to_json(self, slots: int) -> dict[str, object]:
        """The forecast for programs."""
        points = []
        for slot, value in enumerate(self.outlook.g_per_kwh[:slots].tolist()):
            point: dict[str, object] = {
                "start": (self.start + timedelta(seconds=SLOT_S * slot)).isoformat(timespec="minutes"),
                "g_per_kwh": round(value, 2),
            }
            if self.has_interval(slot):
                point |= {"low": round(float(self.low[slot]), 2), "high": round(float(self.high[slot]), 2)}
            points.append(point)
        return {
            "region": self.region,
            "basis": self.outlook.basis,
            "forecast": points,
            "mean_absolute_error_percent": {key: round(value, 2) for key, value in self.score.items()},
            "published_mean_absolute_error_percent": {
                key: round(value, 2) for key, value in self.published_score.items()
            },
            "notes": list(self.outlook.notes),
        }


class GreenDesk:
    """Grids that a workspace knows, and plans on them.

    Args:
        folder: Where the series lie.
        clock: Tells the time.
    """

    def __init__(self, folder: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.shelf = GreenShelf(folder)
        self._clock = clock

    @classmethod
    def of_workspace(cls, path: Path) -> Self:
        """The grids of the workspace at ``path``, which need not be open nor be there yet."""
        return cls(WorkspaceFiles(path).green)

    def add(
        self, files: Sequence[Path], *, region: str = "", zone: str = "", label: str = "start", kind: str = ""
    ) -> tuple[StoredRegion, list[str]]:
        """Take series in; see :meth:`GreenShelf.add`."""
        return self.shelf.add(files, region=region, zone=zone, label=label, kind=kind)

    def grid_outlook(self, region: str, now: datetime) -> GridOutlook:
        """Forecast of a region's intensity from ``now`` on."""
        stored = self.shelf.load(region) if region else None
        return outlook(
            stored.series if stored else None,
            now,
            coefficients=stored.coefficients if stored else None,
            published=stored.published if stored else None,
        )

    def plan(
        self, job: GreenJob, *, region: str = "", now: datetime | None = None, will_replan: bool = False
    ) -> GreenPlan:
        """The cleanest plan for a job.

        Args:
            job: The job.
            region: Of the grid.
            now: The present, where it is not that of the clock.
            will_replan: The plan is made anew every half hour, which keeps more.

        Raises:
            InputError: No such region, or several and none is named.
            InfeasibleError: The deadline has passed, or the job does not fit before it.
            NoEvidenceError: Nothing is known of the grid.
        """
        moment = now or self._clock()
        chosen = self.shelf.choose(region)
        expected, kept = self.grid_outlook(chosen, moment), self.record(chosen).factor
        if not len(expected.g_per_kwh):
            raise NoEvidenceError(f"no plan: {expected.basis}", hint=_IMPORT)
        return make_plan(
            job, expected, moment, region=chosen or region, will_replan=will_replan, kept_here=kept
        )

    def record(self, region: str) -> WaitRecord:
        """Promised and actual savings of earlier waits on a region."""
        stored = self.shelf.load(region) if region and self.shelf.outcomes.exists() else None
        return WaitRecord() if stored is None else record_of(self.shelf.outcomes, stored.series)

    def _remember(self, plans: Sequence[GreenPlan], spans: Sequence[tuple[datetime, datetime]]) -> None:
        """Log a wait that promised something, so that what it keeps corrects later promises."""
        if plans and plans[0].saving > 0 and spans:
            first = plans[0]
            outcome = WaitOutcome(
                region=first.region, arrived=first.now, spans=tuple(spans), promised=first.saving
            )
            with contextlib.suppress(OSError):  # a full disk must not fail a command that has run
                outcome.append_to(self.shelf.outcomes)

    def region_to_wait_for(self, region: str, say: Callable[[str], None]) -> str:
        """The region a waiter plans on; empty, with the reason said, where there is none: it never blocks."""
        try:
            return self.shelf.choose(region)
        except InputError as fault:
            say(f"{fault}: no plan without a series")
            return ""

    def wait(self, request: WaitRequest, say: Callable[[str], None], clocks: Clocks | None = None) -> int:
        """Run a command at its time; return its exit code."""
        waiter = Waiter(self.shelf, request, say, clocks or Clocks(now=self._clock))
        code = waiter.run()
        self._remember(waiter.plans, waiter.spans)
        return code

    def forecast(self, region: str = "", now: datetime | None = None) -> RegionForecast:
        """The forecast of a region with intervals from its own errors of the last weeks.

        Raises:
            NoEvidenceError: Nothing can be said.
        """
        moment = now or self._clock()
        chosen = self.shelf.choose(region)
        expected = self.grid_outlook(chosen, moment)
        stored = self.shelf.load(chosen) if chosen else None
        if stored is None or not len(expected.g_per_kwh):
            raise NoEvidenceError(f"no forecast: {expected.basis}", hint=_IMPORT)
        low, high, score = recent_errors(stored, expected, moment)
        start = stored.series.time_of(stored.series.slot_of(moment))
        theirs = stored.published.errors(stored.series) if stored.published else {}
        return RegionForecast(
            region=chosen,
            start=start,
            outlook=expected,
            low=low,
            high=high,
            score=score,
            published_score=theirs,
        )

    def statement(
        self,
        files: Sequence[Path],
        *,
        region: str = "",
        g_per_kwh: float | None = None,
        pue: float | None = None,
        interval_s: float = 1.0,
        start: datetime | None = None,
        title: str = "Carbon statement",
        zone: str = "",
        hosts: Mapping[Path, str] | None = None,
    ) -> CarbonStatement:
        """Emissions of runs, from logs of meters and a region's series; see ``make_statement``."""
        from recommender.green.statement import make_statement

        chosen = self.shelf.choose(region)
        stored = self.shelf.load(chosen) if chosen else None
        return make_statement(
            files,
            series=stored.series if stored else None,
            now=self._clock(),
            title=title,
            g_per_kwh=g_per_kwh,
            pue=pue,
            interval_s=interval_s,
            start=start,
            zone=zone,
            hosts=hosts,
        )

    def backtest(
        self,
        *,
        duration_s: float,
        within_s: float,
        can_split: bool,
        region: str = "",
        days: int = 365,
        caution: float = CAUTION,
    ) -> BacktestResult:
        """Savings that plans for such a job would have made over the last days of a region's series.

        Raises:
            NoEvidenceError: The series is too short.
        """
        chosen = self.shelf.choose(region)
        stored = self.shelf.load(chosen) if chosen else None
        if stored is None:
            raise NoEvidenceError("no series has been imported", hint=_IMPORT)
        length, window = (max(1, -int(-seconds // SLOT_S)) for seconds in (duration_s, within_s))
        if not length <= window <= HORIZON:
            raise InputError(
                f"a job of {duration_s / 3600:g} h within {within_s / 3600:g} h",
                hint=f"--within: no shorter than the job, and {HORIZON // 2} h at most",
            )
        series = stored.series
        first = max(LEAST_HISTORY + 4 * DAY, len(series.values) - window - days * DAY)
        last = len(series.values) - window
        if last - first < 14 * DAY:
            raise NoEvidenceError(
                f"{len(series.values) / DAY:.0f} days of {chosen} are too few to look back on",
                hint="import five weeks or more",
            )
        from recommender.green.backtest import ForecastTable, backtest

        history = IntensityHistory(series.values, series.local_start)
        table = ForecastTable.rolling(history, first, len(series.values), self.shelf.neighbours(series))
        return backtest(series, table, length, window, can_split=can_split, caution=caution)
