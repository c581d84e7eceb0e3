"""Learns the shipped coefficients of the green forecast from a folder of series.

    python -m tools.green.fit_forecast SERIES_DIR [--years 2019 2021 2022] [--leave-out DE GB]

SERIES_DIR holds a CSV a region, `Time,Carbon Intensity`, local standard time, gCO2/kWh; the file's name is
the region's. Only coefficients are written, never a series. The header names regions, years and digests of
the files.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.harness import option, parse
from ingest.formats.intensity.registry import read_intensity
from recommender.green.coefficients import KNOTS, Coefficients, NormalEquations
from recommender.green.history import DAY, HORIZON, LEAST_HISTORY, MEMORY_DAYS, IntensityHistory
from recommender.green.series import series_from

RIDGE = 1e-2
"""Chosen with each region left out once; 1e-3 and 1e-1 are within 0.2 points of it everywhere."""

STEP = 26
"""Slots between origins: thirteen hours, so that every hour of the day is met; even, for hourly series."""


def pooled(equations: Iterable[NormalEquations], ridge: float) -> Coefficients:
    """Coefficients of several regions, each with the same weight however long its series is."""
    parts = [(item.gram / item.rows[:, None, None], item.right / item.rows[:, None]) for item in equations]
    gram = np.mean([gram for gram, _ in parts], axis=0)
    right = np.mean([right for _, right in parts], axis=0)
    features = gram.shape[-1]
    values = np.stack(
        [np.linalg.solve(a + ridge * np.eye(features), b) for a, b in zip(gram, right, strict=True)]
    )
    return Coefficients(values, np.stack([np.diag(a) + ridge for a in gram]))


def equations_of(path: Path, years: list[int], step: int = STEP) -> NormalEquations:
    """Normal equations of the origins of one series that lie, with all their targets, in the years."""
    series = series_from([read_intensity(path)], zone="UTC", region=path.stem)
    start, values = series.local_start, series.values
    history = IntensityHistory(values, start)
    t = np.arange(max(LEAST_HISTORY, MEMORY_DAYS * DAY) // 2 * 2, len(values) - HORIZON, step)
    first = np.datetime64(start, "m")
    of_origin = (first + t * np.timedelta64(30, "m")).astype("datetime64[Y]").astype(int) + 1970
    of_target = (first + (t + HORIZON) * np.timedelta64(30, "m")).astype("datetime64[Y]").astype(int) + 1970
    t = t[np.isin(of_origin, years) & np.isin(of_target, years)]
    shared = history.at_origins(t[:1])
    width = shared.shared.shape[1] + history.at_horizon(shared, 0)[1].shape[1]
    result = NormalEquations.empty(width)
    result.add(history, t, len(values))
    return result


def main() -> None:
    """Fit and write."""
    arguments = parse(
        __doc__,
        option("series", type=Path),
        option("--years", type=int, nargs="+", default=[2019, 2021, 2022]),
        option("--leave-out", nargs="*", default=["DE", "GB"]),
        option("--out", type=Path, default=Path("data/green")),
        option("--source", default=""),
    )
    files = [path for path in sorted(arguments.series.glob("*.csv")) if path.stem not in arguments.leave_out]
    coefficients = pooled((equations_of(path, arguments.years) for path in files), RIDGE)
    header = {
        "what": "ridge coefficients of the green forecast by horizon; the series are not shipped",
        "regions": [path.stem for path in files],
        "years": arguments.years,
        "left_out": arguments.leave_out,
        "ridge": RIDGE,
        "source": arguments.source,
        "sha256": {path.stem: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in files},
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        arguments.out / "forecast.npz",
        values=coefficients.values.astype(np.float32),
        weight=coefficients.weight.astype(np.float32),
        knots=KNOTS.astype(np.int16),
    )
    (arguments.out / "forecast.json").write_text(json.dumps(header, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
