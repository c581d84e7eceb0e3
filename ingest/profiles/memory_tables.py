"""Device memory: memory_record and operator_memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ingest.profiles.cells import nanoseconds, number, table
from ingest.profiles.facts import MemoryUse, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

POINTS = 400
"""Points of a timeline that are kept: more cannot be told apart on a screen."""

FRAMEWORKS = frozenset({"PTA", "PTA+GE", "GE", "MINDSPORE", "WORKSPACE"})
"""Components whose memory the framework's allocator gave; APP is all that the process has."""


def is_record(header: frozenset[str]) -> bool:
    """Whether a CSV file follows memory over time."""
    return {"Component", "Timestamp(us)", "Total Allocated(MB)"} <= header


def is_operator_memory(header: frozenset[str]) -> bool:
    """Whether a CSV file lists allocations of operators."""
    return {"Name", "Size(KB)", "Allocation Time(us)"} <= header


def read_record(path: Path, file: str, on_fault: Callable[[str], None]) -> MemoryUse | None:
    """Memory of the framework's allocator over time; None if none was recorded."""

    def points() -> Iterable[tuple[int, float, float]]:
        for _, row in table(path, on_fault):
            if row.get("Component", "").upper() not in FRAMEWORKS:
                continue
            at = nanoseconds(row.get("Timestamp(us)"))
            if at is not None:
                yield at, number(row.get("Total Reserved(MB)")), number(row.get("Total Allocated(MB)"))

    return use(points(), file, None)


def use(points: Iterable[tuple[int, float, float]], file: str, allocations: int | None) -> MemoryUse | None:
    """A use of memory from points of nanoseconds, reserved and allocated megabytes."""
    known = sorted(point for point in points if not (math.isnan(point[1]) or math.isnan(point[2])))
    if not known:
        return None
    first = known[0][0]
    every = max(1, len(known) // POINTS)
    return MemoryUse(
        peak_reserved_mb=max(point[1] for point in known),
        peak_allocated_mb=max(point[2] for point in known),
        timeline=tuple(((at - first) / 1e3, r, a) for at, r, a in known[::every]),
        allocations=allocations,
        place=Place(file),
    )


def count_allocations(path: Path, on_fault: Callable[[str], None]) -> int:
    """How many allocations of operators there were."""
    return sum(1 for _ in table(path, on_fault))
