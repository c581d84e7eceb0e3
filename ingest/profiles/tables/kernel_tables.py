"""Tables of kernels: kernel_details, op_summary, task_time, op_statistic and any CSV with their columns."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from ingest.profiles.cells import duration_us, nanoseconds, number, read_table
from ingest.profiles.facts.kernels import KernelBuilder, Kernels

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

_CORES = {"KERNEL_AICORE": "AI_CORE", "KERNEL_AICPU": "AI_CPU", "KERNEL_AIVEC": "AI_VECTOR_CORE"}
"""Names of cores in task_time, and those of other tables."""
_CUBE_UNITS = ("mac", "mte1", "mte2", "scalar", "fixpipe", "icache", "l0", "l1")
_VECTOR_UNITS = ("vec", "mte3", "ub")
"""Units of a core that is cube and vector in one (Atlas training and inference products), whose columns
have no prefix; the others are those of the cube."""
_UNIT_ENDS = ("_ratio", "_time(us)", "_miss_rate", "(GB/s)", "_fops")


def is_kernel_table(header: frozenset[str]) -> bool:
    """True if a CSV file lists kernels one by one, with their times."""
    return bool(header.intersection(_DURATION)) and bool(
        header.intersection({*_NAMES["name"], *_NAMES["kind"]})
    )


def is_statistic(header: frozenset[str]) -> bool:
    """True if a CSV file sums kernels by type."""
    return {"OP Type", "Core Type", "Count", "Total Time(us)"} <= header


def read_kernels(path: Path, file: str, on_fault: Callable[[str], None]) -> Kernels:
    """Kernels of a table, in its order; rows without a duration are left out and counted."""
    builder = KernelBuilder(file)
    columns: dict[str, str] = {}
    pipes: list[tuple[str, str]] = []
    start = stop = duration = wait = blocks = ""
    is_first = True
    without = 0
    for line, row in read_table(path, on_fault):
        if is_first:
            is_first = False
            columns = {ours: _column(row, theirs) for ours, theirs in _NAMES.items()}
            start, stop, duration = _column(row, _START), _column(row, _STOP), _column(row, _DURATION)
            wait, blocks = _column(row, _WAIT), _column(row, _BLOCKS)
            pipes = _counters(row)
        texts = {ours: row[theirs] for ours, theirs in columns.items() if theirs}
        if texts.get("core", "") in _NOT_RUN:
            continue
        began = nanoseconds(row[start]) if start else None
        lasted = duration_us(row.get(duration))
        if math.isnan(lasted) and began is not None and stop and not row.get(duration):
            ended = nanoseconds(row[stop])
            lasted = duration_us((ended - began) / 1e3) if ended is not None else lasted
        if math.isnan(lasted):
            without += 1
            continue
        builder.add(
            line,
            began,
            duration_us=lasted,
            wait_us=number(row.get(wait)),
            blocks=number(row.get(blocks)),
            pipes={ours: number(row[theirs]) for ours, theirs in pipes},
            **{ours: "" if text == "N/A" else _plain(ours, text) for ours, text in texts.items()},
        )
    if without:
        on_fault(f"{path.name}: {without} rows have no time that can be, and are left out")
    return builder.build()


def read_statistic(
    path: Path, file: str, on_fault: Callable[[str], None]
) -> tuple[Kernels, dict[str, float]]:
    """Sums by type as if each were one kernel, for profiles that have nothing finer; and times by type."""
    builder = KernelBuilder(file)
    totals: dict[str, float] = {}
    for line, row in read_table(path, on_fault):
        total = duration_us(row.get("Total Time(us)"))
        if math.isnan(total):
            continue
        kind = row.get("OP Type", "")
        totals[kind] = totals.get(kind, 0.0) + total
        builder.add(line, None, duration_us=total, kind=kind, name=kind, core=row.get("Core Type", ""))
    return builder.build(), totals


def _column(row: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((name for name in names if name in row), "")


def _counters(row: Mapping[str, str]) -> list[tuple[str, str]]:
    """Columns of counters: their names here, and in the table."""
    found = [(name, name) for name in row if name.startswith(("aic", "aiv", "cube_util", "vector_"))]
    if any(name.startswith(("aic_", "aiv_")) for name, _ in found):
        return found
    for name in row:
        if name.endswith(_UNIT_ENDS) and name.startswith(_CUBE_UNITS):
            found.append((f"aic_{name}", name))
        elif name.endswith(_UNIT_ENDS) and name.startswith(_VECTOR_UNITS):
            found.append((f"aiv_{name}", name))
        elif name == "total_cycles":
            found.append(("aic_total_cycles", name))
    if len(found) > 1 and "aicore_time(us)" in row:
        found.append(("aiv_time(us)", "aicore_time(us)"))
    return found


def _plain(column: str, text: str) -> str:
    """A text in the form of other tables; shapes come wrapped in additional quotes."""
    if column == "core":
        return _CORES.get(text, text)
    return text.strip('"') if column.startswith(("input", "output")) else text
