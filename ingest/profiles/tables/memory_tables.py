"""Device memory: memory_record, operator_memory, npu_module_mem, npu_mem.

The framework's profilers write megabytes, msprof kilobytes; the header says which.
"""

import math
from array import array
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from ingest.profiles.cells import nanoseconds, number, read_table
from ingest.profiles.facts.details import ModuleMemory
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import MemoryUse

POINTS = 400
"""Points of a timeline that are kept: more cannot be told apart on a screen."""
_KB_PER_MB = 1024.0

Point = tuple[str, int, float, float]

FRAMEWORKS = frozenset({"PTA", "PTA+GE", "GE", "MINDSPORE", "MINDSPORE+GE", "WORKSPACE", "PYTORCH"})
"""Components whose memory the framework's allocator gave; APP is all that the process has."""


def is_record(header: frozenset[str]) -> bool:
    """True if a CSV file follows memory over time."""
    return {"Component", "Timestamp(us)"} <= header and any(
        name.startswith("Total Allocated(") for name in header
    )


def is_operator_memory(header: frozenset[str]) -> bool:
    """True if a CSV file lists allocations of operators."""
    return {"Name", "Size(KB)", "Allocation Time(us)"} <= header


def is_module_memory(header: frozenset[str]) -> bool:
    """True if a CSV file follows memory by component of the software, or of the process and the device."""
    by_module = {"Component", "Timestamp(us)"} <= header and not is_record(header)
    return (by_module and bool({"Total Reserved(MB)", "Total Reserved(KB)"} & header)) or {
        "event", "memory(KB)", "timestamp(us)",
    } <= header  # fmt: skip


def read_record(path: Path, file: str, on_fault: Callable[[str], None]) -> MemoryUse | None:
    """Memory of the framework's allocator over time; None if none was recorded."""

    def points() -> Iterable[Point]:
        for _, row in read_table(path, on_fault):
            at = nanoseconds(row.get("Timestamp(us)"))
            if at is not None:
                yield (
                    row.get("Component", "").upper(),
                    at,
                    _megabytes(row, "Total Reserved"),
                    _megabytes(row, "Total Allocated"),
                )

    return memory_use(points(), file, None)


def _megabytes(row: Mapping[str, str], name: str) -> float:
    megabytes = row.get(f"{name}(MB)")
    return number(row.get(f"{name}(KB)")) / _KB_PER_MB if megabytes is None else number(megabytes)


def memory_use(points: Iterable[Point], file: str, allocations: int | None) -> MemoryUse | None:
    """A use of memory from points of a component, nanoseconds, reserved and allocated megabytes.

    Of the framework's components it is the one that reserved most: one that adds up others is among them.
    """
    times: dict[str, array[int]] = {}
    amounts: dict[str, array[float]] = {}
    for component, at, reserved, allocated in points:
        if component in FRAMEWORKS and not (math.isnan(reserved) or math.isnan(allocated)):
            times.setdefault(component, array("q")).append(at)
            amounts.setdefault(component, array("d")).extend((reserved, allocated))
    if not times:
        return None
    largest = max(times, key=lambda name: max(amounts[name][::2]))
    at_ns = np.array(times[largest], dtype=np.int64)
    held = np.array(amounts[largest]).reshape(-1, 2)
    order = np.argsort(at_ns, kind="stable")
    at_ns, held = at_ns[order], held[order]
    every = max(1, len(at_ns) // POINTS)
    kept = zip(at_ns[::every] - at_ns[0], held[::every], strict=True)
    return MemoryUse(
        peak_reserved_mb=float(held[:, 0].max()),
        peak_allocated_mb=float(held[:, 1].max()),
        timeline=tuple((float(at) / 1e3, float(both[0]), float(both[1])) for at, both in kept),
        allocations=allocations,
        place=FactPlace(file),
        returned_mb=float(np.maximum(0.0, -np.diff(held[:, 0])).sum()),
    )


def read_allocations(path: Path, file: str, on_fault: Callable[[str], None]) -> tuple[int, MemoryUse | None]:
    """The number of allocations of operators, and the memory held at each allocation and release.

    Memory that was not released within the recording, or allocated before it, has blanks.
    """
    rows = 0

    def points() -> Iterable[Point]:
        nonlocal rows
        for _, row in read_table(path, on_fault):
            rows += 1
            for when in ("Allocation", "Release"):
                at = nanoseconds(row.get(f"{when} Time(us)"))
                if at is not None:
                    reserved = _megabytes(row, f"{when} Total Reserved")
                    yield "PTA", at, reserved, _megabytes(row, f"{when} Total Allocated")

    found = memory_use(points(), file, None)
    return rows, found


def read_modules(path: Path, file: str, on_fault: Callable[[str], None]) -> list[ModuleMemory]:
    """Memory by component; -1, which stands where only releases were seen, is not collected."""

    def samples() -> Iterable[tuple[str, str, int, float]]:
        for _, row in read_table(path, on_fault):
            at = nanoseconds(row.get("Timestamp(us)", row.get("timestamp(us)")))
            if "memory(KB)" in row:
                amount = number(row["memory(KB)"]) / _KB_PER_MB
            else:
                amount = _megabytes(row, "Total Reserved")
            if at is not None:
                yield row.get("Device_id", ""), row.get("Component", row.get("event", "")), at, amount

    return module_memory(samples(), file)


def module_memory(samples: Iterable[tuple[str, str, int, float]], file: str) -> list[ModuleMemory]:
    """Memory by device and component from samples: device, component, nanoseconds, megabytes."""
    held: dict[tuple[str, str], tuple[float, int, float, int]] = {}
    for device, component, at, amount in samples:
        if math.isnan(amount) or amount < 0:
            continue
        peak, last_at, last, n = held.get((device, component), (0.0, at, amount, 0))
        if at >= last_at:
            last_at, last = at, amount
        held[device, component] = max(peak, amount), last_at, last, n + 1
    return [
        ModuleMemory(
            component=component, peak_mb=peak, last_mb=last, samples=n, place=FactPlace(file), device=device
        )
        for (device, component), (peak, _, last, n) in held.items()
    ]
