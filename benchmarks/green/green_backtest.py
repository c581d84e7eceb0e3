"""Savings of `green wait` on past grids, beside simpler rules, an easier forecast and the perfect one.

    python -m benchmarks.green.green_backtest --series DIR [--quick] [--caution SHARE]

DIR holds a CSV a region (`Time,Carbon Intensity`, such as ger_ci.csv). Every calendar year that a region has
whole, and nine days before it, is one run, named by the region, and by the year too where it has several. It
is forecast by the shipped coefficients, bent by its own past and by the other regions of DIR, of which the
weeks around each stretch are left out. A region and year that the coefficients learned from says `learned`.

Two workloads: that of Let's Wait Awhile (4 rules), and a grid of jobs (1 to 48 h by 12 to 96 h, whole and
split, a start every seven hours). `once`: our plan of the arrival, kept. `floor`: profile of four weeks by
hour of the week. `noise`: Let's Wait Awhile's own forecast, which is the truth with 5 % of white noise.
`perfect`: the truth. `dirtier_48`: per cent of shifted jobs with a deadline of 48 h or more that emit more
than at once. `promise_gap`: promised minus kept saving over the cells of the grid, in points, of `green wait`;
`promise_gap_once` of `green plan`. `promise_held`: per cent of the jobs with a promise inside its 90 %
interval. `coverage_90`: per cent of the forecasts inside theirs. `--caution`: greatest
chance to end dirtier with which a job waits. The seed draws the jobs and the noise.
"""

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.green.batch_jobs import JOBS, batch_jobs
from benchmarks.harness import Run
from ingest.formats.intensity.registry import read_intensity
from recommender.green.backtest import (
    ForecastTable,
    backtest,
    floor_forecast,
    replan_split,
    replan_whole,
)
from recommender.green.coefficients import NeighbourRegion, shipped
from recommender.green.desk import CLASSES, STEP, WINDOW_DAYS, interval_factors
from recommender.green.history import DAY, HORIZON, MEMORY_DAYS, Floats, IntensityHistory
from recommender.green.placement import best_start, cheapest_slots
from recommender.green.promises import CAUTION, promise_record
from recommender.green.series import IntensitySeries, series_from

CELLS = (
    (1, 12), (4, 12), (4, 24), (8, 24), (8, 48), (16, 48), (24, 48), (8, 96), (24, 96), (48, 96)
)  # fmt: skip
"""Hours of work and hours to the deadline."""
NOISE = 0.05
NAMES = {"ger_ci": "DE", "gb_ci": "GB", "fr_ci": "FR", "cal_ci": "CAL"}


def load(folder: Path) -> dict[str, IntensitySeries]:
    """Every series of the folder that has a whole year; the clock of its file is taken as it stands."""
    found = {}
    for path in sorted(folder.glob("*.csv")):
        name = NAMES.get(path.stem, path.stem)
        try:
            series = series_from([read_intensity(path)], region=name, zone="UTC")
        except ValueError as fault:
            print(f"{path.name} is left out: {fault}")
            continue
        if not whole_years(series):
            print(f"{path.name} is left out: it covers no calendar year and nine days before it")
            continue
        found[name] = series
    return found


def slots_of(series: IntensitySeries, year: int) -> tuple[int, int]:
    """The slots of a year: its first, and that after its last."""
    first, over = (datetime(one, 1, 1, tzinfo=series.start.tzinfo) for one in (year, year + 1))
    return series.slot_of(first), series.slot_of(over)


def whole_years(series: IntensitySeries) -> list[int]:
    """The calendar years that a series has whole, with nine days before them."""
    years = range(series.start.year, series.start.year + len(series.values) // (365 * DAY) + 2)
    spans = ((year, *slots_of(series, year)) for year in years)
    return [year for year, begin, end in spans if begin >= 9 * DAY and end <= len(series.values)]


def workload(
    series: IntensitySeries, table: ForecastTable, first: int, year: int, drawn: Run, caution: float
) -> dict[str, Any]:
    """The four rules of Let's Wait Awhile."""
    values = series.values
    history = IntensityHistory(values, series.local_start)
    noisy = values + drawn.rng().normal(0, NOISE * values[first:].mean(), len(values))
    result = {}
    for rule in ("next_workday", "semi_weekly"):
        for mode in ("whole", "split"):
            sums = np.zeros(6)
            for job in batch_jobs(drawn.rng(), year)[:: 8 if drawn.quick else 1]:
                a, n = first + job.arrival, job.length
                end = first + (job.next_workday if rule == "next_workday" else job.semi_weekly)
                if end > len(values):
                    continue
                truth = values[a:end]
                seen = table.ahead(a)[: end - a].astype(np.float64)

                at_once = float(truth[:n].sum())
                if mode == "split":
                    ours = float(values[replan_split(table, a, n, end)].sum())
                else:
                    begin = replan_whole(table, a, n, end)
                    ours = float(values[begin : begin + n].sum())
                if not worth_it(values, seen, a, n, can_split=mode == "split", caution=caution):
                    ours = at_once
                prices = (seen, floor_forecast(history, a, end - a), noisy[a:end], truth)
                sums += (at_once, ours, *(kept(price, truth, n, mode) for price in prices))
            saved = 100 * (1 - sums[1:] / sums[0])
            result[f"{rule}_{mode}"] = dict(
                zip(("ours", "once", "floor", "noise", "perfect"), saved.round(2).tolist(), strict=True)
            )
    return result


def kept(price: Floats, truth: Floats, n: int, mode: str) -> float:
    """Emissions of a job that is placed by one series and judged by another."""
    if mode == "split":
        return float(truth[cheapest_slots(price, n)].sum())
    begin = best_start(price, n)
    return float(truth[begin : begin + n].sum())


def worth_it(
    values: Floats, seen: Floats, arrival: int, length: int, *, can_split: bool, caution: float
) -> bool:
    """True if a plan would have waited at all, by its chance to end dirtier."""
    if len(seen) <= length:
        return False
    slots = cheapest_slots(seen, length) if can_split else best_start(seen, length) + np.arange(length)
    recent = values[max(0, arrival - MEMORY_DAYS * DAY) : arrival]
    record = promise_record(can_split=can_split, will_replan=True, length=length, slack=len(seen) - length)
    promised = 1 - seen[slots].sum() / seen[:length].sum()
    return record.worth(float(promised), float(recent.std() / recent.mean()), caution) > 0


def coverage(values: Floats, table: ForecastTable, first: int, last: int) -> dict[str, float]:
    """Per cent of outcomes inside the 90 % interval, by horizon, with intervals made anew each week."""
    inside = np.zeros((len(CLASSES), 2))
    for begin in range(first + WINDOW_DAYS * DAY, last - HORIZON, 7 * DAY):
        past = np.arange(begin - WINDOW_DAYS * DAY, begin, STEP)
        target = past[:, None] + np.arange(HORIZON)
        truth = np.where(target < begin, values[target], np.nan)
        low, high = interval_factors(truth / table.values[past - table.first])
        t = np.arange(begin, min(begin + 7 * DAY, last - HORIZON), STEP)
        ahead = table.values[t - table.first]
        came = values[t[:, None] + np.arange(HORIZON)]
        held = (came >= ahead * low) & (came <= ahead * high)
        for place, (one, two) in enumerate(CLASSES):
            inside[place] += (held[:, one:two].sum(), held[:, one:two].size)
    return {
        f"{one // 2}-{two // 2} h": round(float(100 * held / count), 1)
        for (one, two), (held, count) in zip(CLASSES, inside, strict=True)
    }


def errors(values: Floats, table: ForecastTable, first: int, last: int) -> dict[str, float]:
    """Mean absolute error in per cent by horizon."""
    t = np.arange(first, last - HORIZON)
    relative = np.abs(table.values[t - table.first] / values[t[:, None] + np.arange(HORIZON)] - 1)
    return {
        f"{one // 2}-{two // 2} h": round(100 * float(relative[:, one:two].mean()), 2) for one, two in CLASSES
    }


def run(
    series: dict[str, IntensitySeries], name: str, year: int, drawn: Run, caution: float = CAUTION
) -> dict[str, Any]:
    """All figures of one region in one year."""
    own, quick = series[name], drawn.quick
    clock = time.process_time()
    first, over = slots_of(own, year)
    last = min(len(own.values), over + HORIZON)
    own = IntensitySeries(
        region=name, start=own.start, values=own.values[:last], is_filled=own.is_filled[:last], kind=own.kind
    )
    others = [
        NeighbourRegion(IntensityHistory(other.values, other.local_start), other.slot_of(own.start))
        for region, other in series.items()
        if region != name
    ]
    history = IntensityHistory(own.values, own.local_start)
    table = ForecastTable.rolling(history, first, last, others[:3])
    forecast_s = time.process_time() - clock
    found: dict[str, Any] = workload(own, table, first, year, drawn, caution)
    shares = [100 * row["ours"] / row["perfect"] for row in found.values() if isinstance(row, dict)]
    found["share_of_perfect"] = [round(share, 1) for share in shares]
    cells = {}
    for hours, within in CELLS[:: 3 if quick else 1]:
        for can_split in (False, True):
            clock = time.process_time()
            cell = backtest(own, table, 2 * hours, 2 * within, can_split=can_split, caution=caution)
            spent = round(time.process_time() - clock, 2)
            name = f"{hours} h by {within} h, {'split' if can_split else 'whole'}"
            cells[name] = (cell, {**cell.to_json(), "cpu_s": spent})
    gaps = {
        "promise_gap": [cell.promised - cell.replanned for cell, _ in cells.values()],
        "promise_gap_once": [cell.promised_once - cell.once for cell, _ in cells.values()],
    }
    late = [cell for key, (cell, _) in cells.items() if int(key.split(" by ")[1].split()[0]) >= 48]
    waited = sum(cell.shifted * cell.jobs for cell in late)
    for key, points in gaps.items():
        each = {key: np.abs(points).mean(), f"{key}_mean": np.mean(points), f"{key}_worst": np.max(points)}
        found |= {name: round(float(value), 2) for name, value in each.items()}
    shares = [cell.held for cell, _ in cells.values() if cell.held is not None]
    found["promise_held"] = round(float(np.mean(shares)), 1)
    found["dirtier_48"] = round(sum(cell.dirtier * cell.shifted * cell.jobs for cell in late) / waited, 1)
    found["coverage_90"] = coverage(own.values, table, first, last)
    found["mape"] = errors(own.values, table, first, last)
    found["forecast_year_cpu_s"] = round(forecast_s, 2)
    found["cells"] = {key: content for key, (_, content) in cells.items()}
    return found


def runs(series: dict[str, IntensitySeries]) -> Iterator[tuple[str, str, int]]:
    """Each region and year of a folder, with its name between them."""
    for region, one in series.items():
        years = whole_years(one)
        yield from ((region, region if len(years) == 1 else f"{region} {year}", year) for year in years)


def main() -> None:
    """Run all regions."""
    arguments = harness.read(
        __doc__,
        harness.place("--series", "--known"),
        harness.option("--caution", type=float, default=CAUTION, help="chance of harm that a job takes"),
        quick="every eighth job, every third cell of the grid",
    )
    series = load(arguments.series)
    result = {}
    about = shipped()[1]
    for region, name, year in runs(series):
        result[name] = found = run(series, region, year, arguments, arguments.caution)
        found["learned"] = region in about["regions"] and year in about["years"]
    arguments.last_line(result, n=len(result) * JOBS // (8 if arguments.quick else 1))


if __name__ == "__main__":
    main()
