"""Measures what plans keep of what they promise, on the regions that the green forecast learns from.

    python -m tools.green.fit_promises SERIES_DIR [--year 2020] [--out data/green]

Each region is forecast by coefficients of the others, in a year that none of them learned from.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.harness import option, parse
from ingest.formats.intensity.registry import read_intensity
from recommender.green import forecast
from recommender.green.backtest import ForecastTable, simulate
from recommender.green.history import DAY, HORIZON, MEMORY_DAYS, SLOT_S, IntensityHistory
from recommender.green.series import series_from
from tools.green.fit_forecast import RIDGE, equations_of, pooled

LENGTHS = (2, 8, 24, 48, 96)
SLACKS = (6, 12, 24, 48, 96, 192)
STEP = 37
"""Slots between jobs: every hour of the day and day of the week is met."""
QUANTILES = np.linspace(0, 1, 21)


def main() -> None:
    """Simulate and write."""
    arguments = parse(
        __doc__,
        option("series", type=Path),
        option("--year", type=int, default=2020),
        option("--years", type=int, nargs="+", default=[2019, 2021, 2022]),
        option("--leave-out", nargs="*", default=["DE", "GB", "EPE"]),
        option("--out", type=Path, default=Path("data/green")),
    )
    files = [path for path in sorted(arguments.series.glob("*.csv")) if path.stem not in arguments.leave_out]
    equations = {path: equations_of(path, arguments.years) for path in files}
    runs: dict[str, list[list[list[Any]]]] = {
        f"{mode}-{when}": [[[] for _ in SLACKS] for _ in LENGTHS]
        for mode in ("whole", "split")
        for when in ("once", "replanned")
    }
    for path in files:
        base = pooled((item for other, item in equations.items() if other != path), RIDGE)
        series = series_from([read_intensity(path)], zone="UTC", region=path.stem)
        begin = int((datetime(arguments.year, 1, 1) - series.local_start).total_seconds() // SLOT_S)
        values = series.values[: begin + 366 * DAY + HORIZON]
        history = IntensityHistory(values, series.local_start)
        with patch.object(forecast, "shipped", lambda base=base: (base, {})):
            table = ForecastTable.rolling(history, begin, begin + 366 * DAY)
        spread = values[max(0, begin - MEMORY_DAYS * DAY) :]
        for i, length in enumerate(LENGTHS):
            for j, slack in enumerate(SLACKS):
                for mode in ("whole", "split"):
                    for arrival in range(
                        begin, begin + 366 * DAY - length - slack, STEP * (1 + (length + slack > 96))
                    ):
                        recent = values[arrival - MEMORY_DAYS * DAY : arrival]
                        run = simulate(
                            values,
                            table,
                            arrival,
                            length,
                            arrival + length + slack,
                            can_split=mode == "split",
                        )
                        variation = float(recent.std() / recent.mean())
                        for when, kept in (
                            ("once", run.saving(run.once)),
                            ("replanned", run.saving(run.replanned)),
                        ):
                            runs[f"{mode}-{when}"][i][j].append((path.stem, run.promised, kept, variation))
        print(path.stem, len(spread), flush=True)
    cells = {
        name: [[_cell(np.array([item[1:] for item in cell])) for cell in row] for row in rows]
        for name, rows in runs.items()
    }
    content = {
        "what": "saving kept of one promised, and quantiles of the rest over the relative standard deviation",
        "regions": [path.stem for path in files],
        "year": arguments.year,
        "length": list(LENGTHS),
        "slack": list(SLACKS),
        "cells": cells,
    }
    (arguments.out / "promises.json").write_text(json.dumps(content, indent=None) + "\n", encoding="utf-8")


def _cell(run: np.ndarray) -> dict[str, Any]:
    promised, kept, variation = run.T
    slope = float((promised * kept / variation**2).sum() / (promised**2 / variation**2).sum())
    shifted = promised > 0
    rest = (kept - slope * promised)[shifted] / variation[shifted]
    return {
        "kept": round(slope, 4),
        "residuals": [round(float(item), 4) for item in np.quantile(rest, QUANTILES)],
    }


if __name__ == "__main__":
    main()
