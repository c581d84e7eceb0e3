"""msprof's step_trace: iterations of a graph, and the kernels that ran in each."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ingest.profiles.cells import duration_us, nanoseconds, optional_size, read_table
from ingest.profiles.facts.details import Iteration
from ingest.profiles.facts.intervals import split_steps
from ingest.profiles.facts.kernels import UNKNOWN_NS, Kernels, TextColumn
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call, StepTime

WAITING = "Data Aug Bound"


def is_iteration_table(header: frozenset[str]) -> bool:
    """True if a CSV file lists iterations."""
    return {"Iteration ID", "Iteration Time(us)"} <= header


def read_iterations(path: Path, file: str, on_fault: Callable[[str], None]) -> list[Iteration]:
    """Iterations in the order of the file; rows without a length are left out and counted."""
    found = []
    without = 0
    for line, row in read_table(path, on_fault, repeated=True):
        length = duration_us(row.get("Iteration Time(us)"))
        if math.isnan(length) or length == 0:
            without += 1
            continue
        found.append(
            Iteration(
                number=row["Iteration ID"],
                model=row.get("Model ID", ""),
                length_us=length,
                end_ns=nanoseconds(row.get("Iteration End(us)")),
                data_us=optional_size(row.get("Data Aug Bound(us)")),
                place=FactPlace(file, (line,)),
                device=row.get("Device_id", ""),
            )
        )
    if without:
        on_fault(f"{path.name}: {without} rows have no length of an iteration, and are left out")
    return found


def data_waits(iterations: Sequence[Iteration]) -> list[Call]:
    """The time that iterations waited for data, as a call of a loader; empty if that was not collected."""
    waits = [item for item in iterations if item.data_us]
    if not waits:
        return []
    longest = sorted(waits, key=lambda item: -(item.data_us or 0.0))
    rows = tuple(row for item in longest[:20] for row in item.place.rows)
    return [
        Call(level="loader", name=WAITING, total_us=sum(item.data_us or 0.0 for item in waits),
             count=len(waits), max_us=longest[0].data_us, place=FactPlace(waits[0].place.file, rows))
    ]  # fmt: skip


def assign_steps(kernels: Kernels, iterations: Sequence[Iteration]) -> tuple[Kernels, tuple[StepTime, ...]]:
    """Kernels marked with the iteration they began in, and the split of each iteration.

    Nothing is marked where kernels have steps already, or where iterations overlap: several graphs at once.
    What an iteration waited for data belongs to it, as free time.
    """
    column = kernels.texts["step"]
    bounds = sorted((item.end_ns - round(item.length_us * 1e3), item.end_ns, item)
                    for item in iterations if item.end_ns is not None)  # fmt: skip
    starts = np.array([start for start, _, _ in bounds], dtype=np.int64)
    ends = np.array([end for _, end, _ in bounds], dtype=np.int64)
    marked = any(column.labels[int(code)] for code in np.unique(column.codes))
    if not bounds or marked or (starts[1:] < ends[:-1]).any():
        return kernels, ()
    place = np.searchsorted(starts, kernels.start_ns, side="right") - 1
    inside = (kernels.start_ns != UNKNOWN_NS) & (place >= 0)
    inside &= kernels.start_ns < ends[np.maximum(place, 0)]
    if not inside.any():
        return kernels, ()
    numbers = [item.number for _, _, item in bounds]
    is_plain = len(set(numbers)) == len(numbers)
    labels = numbers if is_plain else [f"{item.model}:{item.number}" for _, _, item in bounds]
    codes = np.where(inside, place + 1, 0).astype(np.int32)
    marked_kernels = replace(kernels, texts={**kernels.texts, "step": TextColumn(codes, ("", *labels))})
    lengths = {label: item for label, (_, _, item) in zip(labels, bounds, strict=True)}
    return marked_kernels, tuple(_whole(step, lengths[step.step]) for step in split_steps(marked_kernels))


def _whole(step: StepTime, iteration: Iteration) -> StepTime:
    """The split of an iteration: as long as the profiler says, never shorter than its kernels."""
    length = max(step.step_us, iteration.length_us)
    busy = step.computing_us + step.exposed_us
    return replace(step, step_us=length, free_us=length - busy, place=iteration.place)
