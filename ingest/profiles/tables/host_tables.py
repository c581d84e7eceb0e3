"""Calls of the host: api_statistic, operator_details, data_preprocess, os_runtime_statistic."""

import math
from collections.abc import Callable
from pathlib import Path

from ingest.profiles.cells import count, duration_us, optional_number, read_table
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call

LOADER_NAMES = (
    "dataloader",
    "_singleprocessdataloader",
    "_multiprocessingdataloader",
    "getnext",
    "batchqueue",
)
"""Parts of the names under which frameworks wait for data."""


def is_api_table(header: frozenset[str]) -> bool:
    """True if a CSV file sums calls of the runtime."""
    return {"API Name", "Time(us)", "Count"} <= header


def is_operator_table(header: frozenset[str]) -> bool:
    """True if a CSV file lists operators of the framework with their time on the host."""
    return {"Name", "Host Self Duration(us)"} <= header


def is_preprocess(header: frozenset[str]) -> bool:
    """True if a CSV file lists work of the AI CPU (data_preprocess, msprof's aicpu)."""
    return "Node" in header and bool({"Compute_time(us)", "Compute_time(ms)"} & header)


def is_system_call_table(header: frozenset[str]) -> bool:
    """True if a CSV file sums calls of the operating system."""
    return {"Process ID", "Thread ID", "Name", "Time(us)", "Count"} <= header


_LEVELS = {"communication": "hccl", "ascendcl": "acl"}
"""Names of levels in versions of the profiler."""


def level_of(label: str) -> str:
    """Level of a call, by one name whichever version of the profiler wrote it."""
    level = label.lower()
    return _LEVELS.get(level, level)


def read_apis(path: Path, file: str, on_fault: Callable[[str], None]) -> list[Call]:
    """Calls of the runtime, summed by the profiler."""
    found = []
    for line, row in read_table(path, on_fault):
        total = duration_us(row.get("Time(us)"))
        if math.isnan(total):
            continue
        found.append(
            Call(
                level=level_of(row.get("Level", "")),
                name=row["API Name"],
                total_us=total,
                count=count(row.get("Count")),
                max_us=optional_number(row.get("Max(us)")),
                place=FactPlace(file, (line,)),
            )
        )
    return found


def read_operators(path: Path, file: str, on_fault: Callable[[str], None]) -> list[Call]:
    """Operators of the framework, summed by name: self time on the host (loaders: total time)."""
    sums: dict[str, list[float]] = {}
    lines: dict[str, list[int]] = {}
    for line, row in read_table(path, on_fault):
        name = row.get("Name", "")
        is_waiting = is_loader(name)
        spent = duration_us(row.get("Host Total Duration(us)" if is_waiting else "Host Self Duration(us)"))
        if math.isnan(spent):
            continue
        held = sums.setdefault(name, [0.0, 0.0, 0.0])
        held[0] += spent
        held[1] += 1
        held[2] = max(held[2], spent)
        lines.setdefault(name, []).append(line)
    return [
        Call(
            level="loader" if is_loader(name) else "op",
            name=name,
            total_us=held[0],
            count=int(held[1]),
            max_us=held[2],
            place=FactPlace(file, tuple(lines[name][:20])),
        )
        for name, held in sums.items()
    ]


def read_preprocess(path: Path, file: str, on_fault: Callable[[str], None]) -> list[Call]:
    """Work of the AI CPU at Level2: by node, run and wait time."""
    found = []
    for line, row in read_table(path, on_fault):
        total = duration_us(row.get("Total_time(us)", row.get("Total_time(ms)", "")))
        if not math.isnan(total):
            scale = 1e3 if "Total_time(us)" not in row else 1.0
            name = row.get("Node", row.get("Name", ""))
            found.append(Call(level="aicpu", name=name, total_us=total * scale, count=1,
                              max_us=total * scale, place=FactPlace(file, (line,))))  # fmt: skip
    return found


def read_system_calls(path: Path, file: str, on_fault: Callable[[str], None]) -> list[Call]:
    """Calls of the operating system, all threads of a name together."""
    held: dict[str, tuple[float, int, float, int]] = {}
    for line, row in read_table(path, on_fault):
        total, times = duration_us(row["Time(us)"]), count(row["Count"])
        if not math.isnan(total):
            spent, before, longest, first = held.get(row["Name"], (0.0, 0, 0.0, line))
            longest = max(longest, optional_number(row.get("Max(us)")) or 0.0)
            held[row["Name"]] = spent + total, before + times, longest, first
    return [
        Call(
            level="os",
            name=name,
            total_us=spent,
            count=times,
            max_us=longest or None,
            place=FactPlace(file, (line,)),
        )
        for name, (spent, times, longest, line) in held.items()
    ]


def is_loader(name: str) -> bool:
    """True if a framework's operator of this name waits for data."""
    low = name.lower()
    return any(part in low for part in LOADER_NAMES)
