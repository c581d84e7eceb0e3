"""Tables of kernels: kernel_details, op_summary, task_time, op_statistic and any CSV with their columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ingest.profiles.cells import nanoseconds, number, table
from ingest.profiles.kernels import KernelBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ingest.profiles.kernels import Kernels

_NAMES: Mapping[str, tuple[str, ...]] = {
    "name": ("Name", "Op Name", "OP Name", "kernel_name", "Kernel Name", "Name "),
    "kind": ("Type", "OP Type", "Op Type", "type"),
    "core": ("Accelerator Core", "Task Type", "kernel_type", "Core Type"),
    "stream": ("Stream ID", "Stream Id", "stream_id"),
    "step": ("Step Id", "Step ID", "Step"),
    "state": ("OP State", "Op State"),
    "device": ("Device_id", "Device ID", "device_id"),
    "input_shapes": ("Input Shapes", "Input Shape"),
    "input_types": ("Input Data Types", "Input Data Type"),
    "input_formats": ("Input Formats", "Input Format"),
    "output_shapes": ("Output Shapes", "Output Shape"),
    "output_types": ("Output Data Types", "Output Data Type"),
    "output_formats": ("Output Formats", "Output Format"),
}
_START = ("Start Time(us)", "Task Start Time(us)", "task_start(us)", "Start Timestamp(us)", "Task Start(us)")
_STOP = ("task_stop(us)", "Task Stop Time(us)")
_DURATION = ("Duration(us)", "Task Duration(us)", "task_time(us)", "Duration (us)", "Task Time(us)")
_WAIT = ("Wait Time(us)", "Task Wait Time(us)")
_BLOCKS = ("Block Dim", "Block Num", "block_dim", "Block dim")

_NOT_RUN = frozenset({"PROFILING_ENABLE", "PROFILING_DISABLE", "EVENT_RECORD", "EVENT_WAIT", "NOTIFY_WAIT",
                      "NOTIFY_RECORD", "PLACE_HOLDER_SQE", "MODEL_MAINTAINCE", "MODEL_EXECUTE",
                      "EVENT_RESET", "NOTIFY WAIT", "NOTIFY RECORD"})  # fmt: skip
"""Rows of task_time that stand for no work."""


def is_kernel_table(header: frozenset[str]) -> bool:
    """Whether a CSV file lists kernels one by one, with their times."""
    return bool(header.intersection(_DURATION)) and bool(
        header.intersection({*_NAMES["name"], *_NAMES["kind"]})
    )


def is_statistic(header: frozenset[str]) -> bool:
    """Whether a CSV file sums kernels by type."""
    return {"OP Type", "Core Type", "Count", "Total Time(us)"} <= header


def read_kernels(path: Path, file: str, on_fault: Callable[[str], None]) -> Kernels:
    """Kernels of a table, in its order; rows without a duration are left out and counted."""
    builder = KernelBuilder(file)
    columns: dict[str, str] = {}
    pipes: list[str] = []
    start = stop = duration = wait = blocks = ""
    is_first = True
    unknown = negative = 0
    for line, row in table(path, on_fault):
        if is_first:
            is_first = False
            columns = {ours: _column(row, theirs) for ours, theirs in _NAMES.items()}
            start, stop, duration = _column(row, _START), _column(row, _STOP), _column(row, _DURATION)
            wait, blocks = _column(row, _WAIT), _column(row, _BLOCKS)
            pipes = [name for name in row if name.startswith(("aic", "aiv", "cube_util", "vector_"))]
        texts = {ours: row[theirs] for ours, theirs in columns.items() if theirs}
        if texts.get("core", "") in _NOT_RUN:
            continue
        lasted = number(row.get(duration))
        if math.isnan(lasted) or lasted < 0:
            unknown += math.isnan(lasted)
            negative += not math.isnan(lasted)
            continue
        began = nanoseconds(row[start]) if start else None
        if began is not None and stop and (ended := nanoseconds(row[stop])) is not None:
            lasted = max(lasted, (ended - began) / 1e3) if math.isnan(lasted) else lasted
        builder.add(
            line,
            began,
            duration_us=lasted,
            wait_us=number(row.get(wait)),
            blocks=number(row.get(blocks)),
            pipes={name: number(row[name]) for name in pipes},
            **{ours: "" if text == "N/A" else _plain(ours, text) for ours, text in texts.items()},
        )
    if unknown or negative:
        on_fault(f"{path.name}: {unknown + negative} rows have no time that can be, and are left out")
    return builder.done()


def read_statistic(
    path: Path, file: str, on_fault: Callable[[str], None]
) -> tuple[Kernels, dict[str, float]]:
    """Sums by type as if each were one kernel, for profiles that have nothing finer; and times by type."""
    builder = KernelBuilder(file)
    totals: dict[str, float] = {}
    for line, row in table(path, on_fault):
        total = number(row.get("Total Time(us)"))
        if math.isnan(total):
            continue
        kind = row.get("OP Type", "")
        totals[kind] = totals.get(kind, 0.0) + total
        builder.add(line, None, duration_us=total, kind=kind, name=kind, core=row.get("Core Type", ""))
    return builder.done(), totals


def _column(row: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((name for name in names if name in row), "")


def _plain(column: str, text: str) -> str:
    """Shapes come wrapped in quotes of their own."""
    return text.strip('"') if column.startswith(("input", "output")) else text
