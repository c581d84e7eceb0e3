"""Measures the error of physics alone on published GPU steps, and of one table's intervals on another table.

    python -m benchmarks.cost_models.gpu_spreads --asked FILE... [--rows N] [--seed N]

The files are cases (``.jsonl.gz``), one for each publication. A width is a standard deviation within 1.645 of which nine
tenths of the logs of measured over modelled time lie: of all rows, by vendor, and by engine. ``nested`` has the share of
each drawn file's rows within the widths of the others, by vendor; the seed also draws the rows.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.cost_models.end_to_end import points, read
from benchmarks.protocols.anchoring import nine_tenths
from benchmarks.worlds.shipped import ShippedKnowledge
from kg.nouns.gain import NORMAL_90

QUICK_ROWS = 30
"""Rows of a file in a quick run."""


@dataclass(frozen=True, slots=True)
class PhysicsError:
    """The error of physics on one row.

    Attributes:
        table: Name of its file.
        vendor: Of its device.
        engine: Its engine; empty in training.
        log_ratio: Log of measured over modelled time.
    """

    table: str
    vendor: str
    engine: str
    log_ratio: float


def read_options(doc: str | None) -> harness.Run:
    """The files of cases, and how many rows of each are drawn."""
    chosen = harness.read(
        doc,
        harness.place("--asked", nargs="+", help="cases of GPUs"),
        harness.option("--rows", type=int, default=150, help="rows of each file"),
        quick=f"{QUICK_ROWS} rows of each file",
        published=7,
    )
    chosen.rows = min(chosen.rows, QUICK_ROWS) if chosen.quick else chosen.rows
    return chosen


def physics_errors(path: Path, rows: int, seed: int, known: ShippedKnowledge) -> list[PhysicsError]:
    """Errors of some rows of a file, drawn at random."""
    drawn = read([path])
    random.Random(seed).shuffle(drawn)
    found, _ = points(drawn[:rows], known)
    return [
        PhysicsError(
            path.name.partition(".")[0],
            "amd" if one.asked.machine.device.amd else "other",
            one.asked.engine,
            one.step.log_ratio,
        )
        for one in found
    ]


def widths(errors: Sequence[PhysicsError], key: Callable[[PhysicsError], str]) -> dict[str, float]:
    """Width of each group of errors."""
    groups: dict[str, list[float]] = defaultdict(list)
    for one in errors:
        groups[key(one)].append(one.log_ratio)
    return {name: round(nine_tenths(np.array(held)), 3) for name, held in sorted(groups.items())}


def nested(errors: Sequence[PhysicsError], run: harness.Run) -> dict[str, float | None]:
    """Share of each drawn table's rows within the widths that the other tables give their vendor."""
    shares = {}
    held = run.draw("table", (one.table for one in errors))
    for table in sorted(held):
        apart = {table} if run.all else held
        others = [one for one in errors if one.table not in apart]
        if not others:
            continue
        by_vendor, overall = widths(others, lambda one: one.vendor), widths(others, lambda _: "")[""]
        mine = [one for one in errors if one.table == table]
        inside = [abs(one.log_ratio) <= NORMAL_90 * by_vendor.get(one.vendor, overall) for one in mine]
        shares[table] = harness.mean(inside, 3)
    return shares


def main() -> None:
    """Read, score, print."""
    chosen = read_options(__doc__)
    known = ShippedKnowledge.load()
    errors = [one for path in chosen.asked for one in physics_errors(path, chosen.rows, chosen.seed, known)]
    tables: dict[str, list[float]] = defaultdict(list)
    for one in errors:
        tables[one.table].append(-one.log_ratio)
    result = {
        "n": len(errors), "overall": widths(errors, lambda _: "all"), "vendor": widths(errors, lambda one: one.vendor),
        "engine": widths(errors, lambda one: one.engine or "none"), "nested": nested(errors, chosen),
        "tables": {name: harness.accuracy(logs) for name, logs in tables.items()},
    }  # fmt: skip
    chosen.last_line(result)


if __name__ == "__main__":
    main()
