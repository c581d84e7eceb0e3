"""Tables of rocprof and rocprofv3: kernels, copies, calls of HIP, ranges of roctx. Times are nanoseconds.

rocprofv3 writes a file for each process and kind (``PID_kernel_trace.csv``), rocprof one ``results.csv``.

Source:
    AMD, ROCprofiler-SDK documentation, "Using rocprofv3": output files; ROCProfiler documentation, "rocprof":
    columns of ``results.csv``.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ingest.profiles.cells import duration_us, number, read_table
from ingest.profiles.facts.kernel_names import gpu_kernel
from ingest.profiles.facts.kernels import (
    COPY_CORE,
    KernelBuilder,
    Kernels,
    TextColumn,
    concatenate,
    is_collective,
)
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call
from ingest.profiles.facts.step_ranges import StepRange, assign_to_ranges, step_of

_NS_PER_US = 1e3
_NUMBER = re.compile(r"\d+")
_KERNELS = {"Kernel_Name", "Start_Timestamp", "End_Timestamp"}
_OLD_KERNELS = {"KernelName", "BeginNs", "EndNs"}
_COPIES = {"Direction", "Start_Timestamp", "End_Timestamp"}
_CALLS = {"Domain", "Function", "Start_Timestamp", "End_Timestamp"}
_WAYS = {
    "HOST_TO_DEVICE": "HtoD",
    "DEVICE_TO_HOST": "DtoH",
    "DEVICE_TO_DEVICE": "DtoD",
    "HOST_TO_HOST": "HtoH",
}
_PART = re.compile(
    r"_?results$|_?(kernel|memory_copy|hip_api|hip_runtime|hip_compiler_api|hsa_\w{1,60}|marker_api|rccl_api|rccl|hip)_trace$"
)


def is_rocprof(header: frozenset[str]) -> bool:
    """True if a CSV file lists kernels, copies or calls as rocprof or rocprofv3 does."""
    return any(columns <= header for columns in (_KERNELS, _OLD_KERNELS, _COPIES, _CALLS))


def process_of(path: Path) -> str:
    """The part of a file's name that stands for its process; ``results`` where it names none."""
    return _PART.sub("", path.stem) or "results"


class RocprofCollector:
    """A collector of the tables of one process.

    Args:
        on_fault: Called with each part that cannot be read.
    """

    def __init__(self, on_fault: Callable[[str], None]) -> None:
        self._on_fault = on_fault
        self._kernels: list[Kernels] = []
        self._copies: list[Kernels] = []
        self._calls: dict[tuple[str, str], tuple[float, int, float, FactPlace]] = {}
        self._steps: list[StepRange] = []

    def take(self, path: Path, file: str) -> int:
        """Take a table, and return how many rows it gave."""
        builder = KernelBuilder(file)
        rows = without = 0
        for line, row in read_table(path, self._on_fault):
            start, end = _whole(row, "Start_Timestamp", "BeginNs"), _whole(row, "End_Timestamp", "EndNs")
            lasted = math.nan if start is None or end is None else duration_us((end - start) / _NS_PER_US)
            if start is None or end is None or math.isnan(lasted):
                without += 1
                continue
            rows += 1
            if "Function" in row:
                self._call(row, (start, end), FactPlace(file, (line,)))
            elif "Direction" in row:
                way = row["Direction"].removeprefix("MEMORY_COPY_")
                name = f"Memcpy {_WAYS.get(way, way.lower())}"
                device = row.get(
                    "Source_Agent_Id" if way.startswith("DEVICE") else "Destination_Agent_Id", ""
                )
                builder.add(
                    line, start, duration_us=lasted, name=name, core=COPY_CORE,
                    stream=row.get("Stream_Id", ""), device=_digits(device),
                )  # fmt: skip
            else:
                name = row.get("Kernel_Name") or row.get("KernelName", "")
                kind, types = ("", "") if is_collective(name) else gpu_kernel(name.removesuffix(".kd"))
                builder.add(
                    line, start, duration_us=lasted, name=name.removesuffix(".kd"),
                    kind=kind, input_types=f"{types};{types}" if types else "",
                    core="COMMUNICATION" if is_collective(name) else "GPU", blocks=_blocks(row),
                    stream=row.get("Stream_Id") or row.get("Queue_Id") or row.get("queue-id", ""),
                    device=_digits(row.get("Agent_Id", row.get("gpu-id", ""))),
                )  # fmt: skip
        if without:
            self._on_fault(f"{path.name}: {without} rows have no time that can be, and are left out")
        if len(builder):
            found = builder.build()
            (self._copies if found.is_copy.all() else self._kernels).append(found)
        return rows

    def _call(self, row: Mapping[str, str], span: tuple[int, int], place: FactPlace) -> None:
        domain, name = row["Domain"], row["Function"]
        if domain.startswith("MARKER"):
            step = step_of(name, *span)
            if step is not None:
                self._steps.append(step)
            return
        level = "hsa" if domain.startswith("HSA") else "hccl" if domain.startswith("RCCL") else "runtime"
        lasted = (span[1] - span[0]) / _NS_PER_US
        total, count, longest, first = self._calls.get((level, name), (0.0, 0, 0.0, place))
        self._calls[level, name] = total + lasted, count + 1, max(longest, lasted), first

    def kernels(self) -> Kernels | None:
        """Kernels and copies with their steps; None if there are no kernels."""
        if not self._kernels:
            return None
        parts = [*self._kernels, *self._copies]
        found = replace(concatenate(parts), file=", ".join(dict.fromkeys(part.file for part in parts)))
        codes, labels = assign_to_ranges(found.start_ns, self._steps)
        return found.with_texts(step=TextColumn(codes, labels))

    def calls(self) -> list[Call]:
        """Calls of the host, summed by name; those of HSA are parts of those of HIP, and left out."""
        return [
            Call(level=level, name=name, total_us=total, count=count, max_us=longest, place=place)
            for (level, name), (total, count, longest, place) in self._calls.items()
            if level != "hsa"
        ]


def _whole(row: Mapping[str, str], *names: str) -> int | None:
    text = next((row[name] for name in names if row.get(name)), "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _digits(text: str) -> str:
    """The number of an agent, which stands as ``2`` or as ``Agent 2``."""
    found = _NUMBER.search(text)
    return found[0] if found else ""


def _blocks(row: Mapping[str, str]) -> float:
    """Groups of work of a kernel: its grid counts work items, not groups as CUDA's does."""
    if "Grid_Size_X" in row:
        sides = [(number(row.get(f"Grid_Size_{a}")), number(row.get(f"Workgroup_Size_{a}"))) for a in "XYZ"]
    else:
        sides = [(number(row.get("grd")), number(row.get("wgr")))]
    if any(not group > 0 for _, group in sides):
        return math.nan
    return float(np.prod([math.ceil(items / group) if items > 0 else math.nan for items, group in sides]))
