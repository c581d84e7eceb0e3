"""Device memory: memory_record and operator_memory."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from ingest.profiles.cells import nanoseconds, number, table
from ingest.profiles.facts import MemoryUse, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

POINTS = 400
"""Points of a timeline that are kept: more cannot be told apart on a screen."""

Point = tuple[str, int, float, float]

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

    def points() -> Iterable[Point]:
        for _, row in table(path, on_fault):
            at = nanoseconds(row.get("Timestamp(us)"))
            if at is not None:
                yield (
                    row.get("Component", "").upper(),
                    at,
                    number(row.get("Total Reserved(MB)")),
                    number(row.get("Total Allocated(MB)")),
                )

    return use(points(), file, None)


def use(points: Iterable[Point], file: str, allocations: int | None) -> MemoryUse | None:
    """A use of memory from points of a component, nanoseconds, reserved and allocated megabytes.

    Of the framework's components it is the one that reserved most: one that adds up others is among them.
    """
    by_component: dict[str, list[tuple[int, float, float]]] = {}
    for component, at, reserved, allocated in points:
        if component in FRAMEWORKS and not (math.isnan(reserved) or math.isnan(allocated)):
            by_component.setdefault(component, []).append((at, reserved, allocated))
    if not by_component:
        return None
    largest = max(by_component, key=lambda name: max(point[1] for point in by_component[name]))
    known = sorted(by_component[largest])
    first = known[0][0]
    every = max(1, len(known) // POINTS)
    return MemoryUse(
        peak_reserved_mb=max(point[1] for point in known),
        peak_allocated_mb=max(point[2] for point in known),
        timeline=tuple(((at - first) / 1e3, r, a) for at, r, a in known[::every]),
        allocations=allocations,
        place=Place(file),
        returned_mb=sum(max(0.0, a[1] - b[1]) for a, b in pairwise(known)),
    )


def count_allocations(path: Path, on_fault: Callable[[str], None]) -> int:
    """How many allocations of operators there were."""
    return sum(1 for _ in table(path, on_fault))
