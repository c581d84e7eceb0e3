"""Fits the shipped power curves to measured tables of time and energy over clocks and power caps.

    python -m tools.green.fit_power_curves POWER_DIR [--out data/green]

POWER_DIR holds tables of the Zeus project (Apache-2.0): `*+DEVICE.csv` with frequency, time and energy of
pipeline stages, `summary_power_*.csv` with time and average power of training runs by limit. Prints, with a
model or a device left out, the mean error of energy with no point of it and with three.
"""

import csv
import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks.harness import option, parse
from recommender.green.power_curve import PowerCurve
from tools.green.power_curve_fit import FIELDS, fit_cap, fit_clock, fit_near

Table = list[tuple[float, float, float]]

CLOCK_START = PowerCurve(clock_bound=1.0, sharpness=4.0, static_share=0.3, exponent=3.0)
CAP_START = PowerCurve(
    clock_bound=1.0, sharpness=4.0, static_share=0.2, exponent=3.0, cap_reach=0.9, cap_sharpness=5.0
)
SOURCES = {
    "clock": "github.com/ml-energy/zeus commit 38cb3f90, sosp24_data/emulation/stage_profile (Apache-2.0): "
    "A100-SXM",
    "cap": "github.com/ml-energy/zeus commit 75a8b939, "
    "examples/research_reproducibility/zeus_nsdi23/trace (Apache-2.0): "
    "V100, P100",
}


def clock_tables(folder: Path) -> dict[str, list[Table]]:
    """Tables by model: clock, time and energy; stages that repeat another's numbers count once."""
    found: dict[str, list[Table]] = {}
    for path in sorted(folder.glob("*+*.csv")):
        by_stage: dict[tuple[str, str], Table] = defaultdict(list)
        with path.open(encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                point = (float(row["frequency"]), float(row["time"]), float(row["energy"]))
                by_stage[row["stage"], row["instruction"]].append(point)
        found[path.stem.partition("+")[0]] = [
            list(table) for table in {tuple(sorted(t)) for t in by_stage.values()}
        ]
    return found


def cap_tables(folder: Path) -> dict[str, list[Table]]:
    """Tables by device: power limit, time and mean power."""
    found: dict[str, list[Table]] = {}
    for path in sorted(folder.glob("summary_power_*.csv")):
        runs: dict[tuple[str, ...], dict[float, list[tuple[float, float]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        with path.open(encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                key = tuple(row[name] for name in ("dataset", "network", "batch_size", "optimizer"))
                runs[key][float(row["power_limit"])].append(
                    (float(row["time_per_epoch"]), float(row["average_power"]))
                )
        tables = [
            [
                (cap, float(np.mean([t for t, _ in some])), float(np.mean([p for _, p in some])))
                for cap, some in sorted(run.items())
            ]
            for run in runs.values()
        ]
        found[path.stem.removeprefix("summary_power_")] = [table for table in tables if len(table) >= 5]
    return found


def clock_energy(curve: PowerCurve, table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Modelled and measured energy as shares of those at the highest clock."""
    clock, _, energy = (np.array(sorted(table)) / max(table)).T
    return curve.energy(clock), energy


def cap_energy(curve: PowerCurve, table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Modelled and measured energy as shares of those under the highest cap."""
    cap, time, power = np.array(sorted(table)).T
    return curve.under_cap(cap, float(power[-1]), float(cap[-1]))[1], time * power / (time[-1] * power[-1])


def pooled_fit(tables: list[Table], kind: str) -> PowerCurve:
    """One curve for all tables."""

    def residual(curve: PowerCurve) -> np.ndarray:
        parts = []
        for table in tables:
            array = np.array(sorted(table))
            if kind == "clock":
                clock, time, energy = (array / array[-1]).T
                both = (np.log(curve.time(clock) / time), np.log(curve.energy(clock) / energy))
            else:
                cap, time, power = array.T
                slower, energy = curve.under_cap(cap, float(power[-1]), float(cap[-1]))
                both = (
                    np.log(energy * time[-1] * power[-1] / (time * power)),
                    0.5 * np.log(slower * time[-1] / time),
                )
            parts += list(both)
        found = np.concatenate(parts)
        soft = 2 * 0.05 * (np.sqrt(0.05**2 + found**2) - 0.05)  # L1 at the far end: single runs are noisy
        return np.asarray(np.sign(found) * np.sqrt(soft))

    start, free = (CLOCK_START, FIELDS[:4]) if kind == "clock" else (CAP_START, FIELDS)
    return fit_near(residual, start, free, width=1e3, rounds=400)


def left_out(tables: dict[str, list[Table]], kind: str) -> tuple[float, float, int]:
    """Mean error of energy, per cent, on what is left out, with no point and with three; and n."""
    energy, fit = (clock_energy, fit_clock) if kind == "clock" else (cap_energy, fit_cap)
    none, three = [], []
    for name, tests in tables.items():
        prior = pooled_fit([table for other, some in tables.items() if other != name for table in some], kind)
        for table in tests:
            ordered = sorted(table)
            none.append(_error(energy, prior, ordered, {len(ordered) - 1}))
            at = (0, len(ordered) // 2, len(ordered) - 1)
            three.append(_error(energy, fit([ordered[place] for place in at], prior), ordered, set(at)))
    return float(np.mean(none)), float(np.mean(three)), len(none)


def _error(
    energy: Callable[[PowerCurve, Table], tuple[np.ndarray, np.ndarray]],
    curve: PowerCurve,
    table: Table,
    without: set[int],
) -> float:
    modelled, measured = energy(curve, table)
    rest = [place for place in range(len(table)) if place not in without]
    return float(100 * np.mean(np.abs(modelled / measured - 1)[rest]))


def main() -> None:
    """Fit, print and write."""
    arguments = parse(
        __doc__, option("power", type=Path), option("--out", type=Path, help="write the curves here")
    )
    content = {}
    for kind, tables in (("clock", clock_tables(arguments.power)), ("cap", cap_tables(arguments.power))):
        none, three, count = left_out(tables, kind)
        print(
            f"{kind}: energy of {count} curves, {' and '.join(tables)} left out in turn: "
            f"{none:.1f} % with no point, {three:.1f} % with three"
        )
        curve = pooled_fit([table for some in tables.values() for table in some], kind)
        content[kind] = {
            "curve": {name: round(value, 4) for name, value in asdict(curve).items()},
            "error_percent": round(none, 1),
            "error_percent_three_points": round(three, 1),
            "curves": count,
            "source": SOURCES[kind],
        }
    if arguments.out:
        (arguments.out / "power_curves.json").write_text(
            json.dumps(content, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
