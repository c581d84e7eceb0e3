"""``msprof op``: the profile of one operator, a row a core (OPPROF_* folders)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.cells import number, table
from ingest.profiles.facts import Place
from ingest.profiles.kernels import KernelBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ingest.profiles.kernels import Kernels

BASIC, PIPES = "OpBasicInfo", "PipeUtilization"
_RENAMED = {
    "aic_cube_ratio": "aic_mac_ratio", "aic_cube_time(us)": "aic_mac_time(us)",
    "aic_time(us)": "aicore_time(us)",
}  # fmt: skip


def is_basic(header: frozenset[str]) -> bool:
    """Whether a CSV file is OpBasicInfo."""
    return {"Op Name", "Task Duration(us)", "Current Freq", "Rated Freq"} <= header


def read_operator(
    basic: Path, pipes: Path | None, file: str, on_fault: Callable[[str], None]
) -> tuple[Kernels, tuple[tuple[int, float], ...]]:
    """The operator as one kernel, with ratios averaged over its cores; rated and current clock, MHz."""
    ratios = {} if pipes is None else _ratios(pipes, on_fault)
    builder = KernelBuilder(file)
    clock: tuple[tuple[int, float], ...] = ()
    for line, row in table(basic, on_fault):
        lasted = number(row.get("Task Duration(us)"))
        if math.isnan(lasted):
            continue
        rated, current = number(row.get("Rated Freq")), number(row.get("Current Freq"))
        if rated > 0 and current > 0:
            clock = ((0, rated), (1, current))
        builder.add(
            line, None, duration_us=lasted, blocks=number(row.get("Block Dim")), pipes=ratios,
            name=row.get("Op Name", ""), kind=row.get("Op Name", ""), core=row.get("Op Type", ""),
            device=row.get("Device Id", ""),
        )  # fmt: skip
    return builder.done(), clock


def _ratios(path: Path, on_fault: Callable[[str], None]) -> Mapping[str, float]:
    sums: dict[str, list[float]] = {}
    for _, row in table(path, on_fault):
        for name, cell in row.items():
            value = number(cell)
            if not math.isnan(value) and name.startswith(("aic_", "aiv_")):
                sums.setdefault(_RENAMED.get(name, name), []).append(value)
    return {name: float(np.mean(values)) for name, values in sums.items()}


def place(basic: str) -> Place:
    """Where the operator stands."""
    return Place(basic, (2,))
