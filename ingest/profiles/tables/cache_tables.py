"""Hit rates of the second-level cache: l2_cache, and counters of the L2Cache group beside kernels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.cells import number, read_table
from ingest.profiles.facts.details import CacheUse
from ingest.profiles.facts.place import FactPlace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ingest.profiles.facts.kernels import Floats, Kernels

_HITS = ("cache_hit", "l2_hit")
_MISSES = ("cache_miss_allocate", "l2_miss")
ROWS = 20


def is_cache_table(header: frozenset[str]) -> bool:
    """True if a CSV file tells hit rates of the cache by operator."""
    return {"Hit Rate", "Victim Rate", "Op Name"} <= header


def read_caches(path: Path, file: str, on_fault: Callable[[str], None]) -> list[CacheUse]:
    """Rates averaged over the runs of each operator."""
    held: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for line, row in read_table(path, on_fault):
        key = row.get("Device_id", ""), row["Op Name"]
        held.setdefault(key, []).append((line, number(row["Hit Rate"])))
    return [
        CacheUse(
            name=name,
            count=len(rows),
            hit_rate=_mean([hit for _, hit in rows]),
            place=FactPlace(file, tuple(line for line, _ in rows[:ROWS])),
            device=device,
        )
        for (device, name), rows in held.items()
    ]


def _mean(values: list[float]) -> float | None:
    collected = [value for value in values if not math.isnan(value) and value >= 0]
    return sum(collected) / len(collected) if collected else None


def hit_rate(kernels: Kernels) -> Floats:
    """Share of requests to the cache that hit, of each kernel, shape (n,); nan where not collected.

    Hits by hits and misses of reads and writes, both kinds of core together.

    Source:
        msprof, Profile Data File Reference, table 9 (L2Cache).
    """
    hits, all_ = np.zeros(len(kernels)), np.zeros(len(kernels))
    for name, values in kernels.pipes.items():
        if name.endswith((*_HITS, *_MISSES)):
            counted = np.maximum(np.nan_to_num(values), 0.0)
            all_ += counted
            if name.endswith(_HITS):
                hits += counted
    return np.where(all_ > 0, hits / np.maximum(all_, 1.0), np.nan)


def of_kernels(kernels: Kernels) -> list[CacheUse]:
    """Rates by type of operator from the counters beside kernels; empty if those were not collected."""
    rates = hit_rate(kernels)
    collected = ~np.isnan(rates)
    label = kernels.label
    found = []
    for code in np.unique(label.codes[collected]):
        rows = np.flatnonzero(collected & (label.codes == code))
        found.append(
            CacheUse(
                name=label.labels[int(code)],
                count=len(rows),
                hit_rate=float(rates[rows].mean()),
                place=FactPlace(kernels.file, tuple(int(row) for row in kernels.rows[rows[:ROWS]])),
            )
        )
    return found
