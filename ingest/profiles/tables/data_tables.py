"""Data loading in profiles of MindSpore and msprof: minddata_pipeline_*, dataset.csv, aicpu_mi.

``minddata_pipeline_summary`` is written by columns: a key, then a value for each operation of the pipeline.
Queues and processors are percent there, times milliseconds; -1 means not collected.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ingest.profiles.cells import (
    count,
    duration_us,
    nanoseconds,
    number,
    optional_number,
    read_lines,
    read_table,
)
from ingest.profiles.facts.details import DataPipeline, DataStage
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call

KEYS = frozenset({"pipeline_ops", "op_ids", "op_names"})
"""One of these begins each summary."""
_MEAN = ("Avg. time (us)", "Avg. time(us)")


def is_pipeline_summary(header: frozenset[str]) -> bool:
    """True if a CSV file that begins with these cells describes a data pipeline, key by key."""
    return bool(header & KEYS)


def is_pipeline_raw(header: frozenset[str]) -> bool:
    """True if a CSV file lists the operations of a data pipeline."""
    return {"op_id", "op_type", "num_workers", "output_queue_usage_rate"} <= header


def is_dataset(header: frozenset[str]) -> bool:
    """True if a CSV file times the operations of a data set."""
    return {"Operation", "Stage", "Occurrences"} <= header


def is_queue_table(header: frozenset[str]) -> bool:
    """True if a CSV file lists reads of data from the device's queue."""
    return {"Node Name", "Start Time(us)", "End Time(us)", "Queue Size"} <= header


def read_summary_table(path: Path, file: str, on_fault: Callable[[str], None]) -> DataPipeline | None:
    """A summary as CSV; None if it names no operation."""
    content: dict[str, Sequence[object]] = {
        cells[0].strip(): cells[1:] for _, cells in read_lines(path, on_fault)
    }
    return pipeline(content, file, on_fault)


def pipeline(
    content: Mapping[str, object], file: str, on_fault: Callable[[str], None]
) -> DataPipeline | None:
    """A data pipeline from the keys of its summary; None if it names no operation."""
    summary = {key: list(value) for key, value in content.items() if isinstance(value, list | tuple)}
    names = [
        re.sub(r"\(id=\d+\)$", "", str(name))
        for name in summary.get("op_names") or summary.get("pipeline_ops", [])
    ]
    numbers = [count(cell) for cell in summary.get("op_ids", range(len(names)))]
    if not names or len(numbers) != len(names):
        on_fault(f"{file}: names no operations of a data pipeline, or is cut")
        return None

    stages = tuple(DataStage(number=number, name=name) for number, name in zip(numbers, names, strict=True))
    warnings = [str(item) for item in summary.get("bottleneck_warning", []) if item]
    return DataPipeline(
        stages=stages,
        warning=warnings[0] if warnings else "",
        place=FactPlace(file),
    )


def read_raw(path: Path, file: str, on_fault: Callable[[str], None]) -> DataPipeline | None:
    """The operations alone, for a folder that has no summary; None if there are none."""
    stages = []
    for _, row in read_table(path, on_fault):
        identity = optional_number(row.get("op_id"))
        if identity is None:
            continue
        stages.append(DataStage(number=round(identity), name=row.get("op_type", "")))
    if not stages:
        return None
    return DataPipeline(stages=tuple(stages), warning="",
                        place=FactPlace(file))  # fmt: skip


def read_dataset(path: Path, file: str, on_fault: Callable[[str], None]) -> list[Call]:
    """Operations of a data set by stage: they run in workers of their own, beside the step."""
    found = []
    for line, row in read_table(path, on_fault):
        mean = duration_us(next((row[name] for name in _MEAN if name in row), ""))
        times = count(row.get("Occurrences"))
        if math.isnan(mean) or times <= 0:
            continue
        name = " ".join(part for part in (row["Operation"], row["Stage"]) if part)
        found.append(Call(level="dataset", name=name, total_us=mean * times, count=times, max_us=None,
                          place=FactPlace(file, (line,))))  # fmt: skip
    return found


def read_queue(path: Path, file: str, on_fault: Callable[[str], None]) -> list[Call]:
    """Reads of data from the device's queue, by queue."""
    held: dict[str, list[float]] = {}
    rows: dict[str, list[int]] = {}
    for line, row in read_table(path, on_fault):
        start, end = nanoseconds(row["Start Time(us)"]), nanoseconds(row["End Time(us)"])
        if start is None or end is None or end < start or math.isnan(number(row["Queue Size"])):
            continue
        held.setdefault(row["Node Name"], []).append((end - start) / 1e3)
        rows.setdefault(row["Node Name"], []).append(line)
    return [
        Call(level="dataset", name=name, total_us=sum(times), count=len(times), max_us=max(times),
             place=FactPlace(file, tuple(rows[name][:20])))
        for name, times in held.items()
    ]  # fmt: skip
