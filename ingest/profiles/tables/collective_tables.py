"""msprof's communication_statistic: communication operators summed by type."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from ingest.profiles.cells import count, duration_us, optional_number, read_table
from ingest.profiles.facts.details import CollectiveSum
from ingest.profiles.facts.place import FactPlace


def is_collective_statistic(header: frozenset[str]) -> bool:
    """True if a CSV file sums communication by type: columns as of op_statistic, without the core."""
    return {"OP Type", "Count", "Total Time(us)", "Ratio(%)"} <= header and "Core Type" not in header


def read_sums(path: Path, file: str, on_fault: Callable[[str], None]) -> list[CollectiveSum]:
    """Sums by type; the share is the profiler's own, else counted from the sums."""
    found = []
    for line, row in read_table(path, on_fault):
        total = duration_us(row.get("Total Time(us)"))
        if math.isnan(total):
            continue
        share = optional_number(row.get("Ratio(%)"))
        found.append(
            CollectiveSum(
                kind=row.get("OP Type", ""),
                count=count(row.get("Count")),
                total_us=total,
                mean_us=optional_number(row.get("Avg Time(us)")),
                max_us=optional_number(row.get("Max Time(us)")),
                share=None if share is None else share / 100,
                place=FactPlace(file, (line,)),
                device=row.get("Device_id", ""),
            )
        )
    return found
