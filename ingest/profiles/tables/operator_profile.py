"""``msprof op``: the profile of one operator, a row a core in each table of counters (OPPROF_* folders).

Beside OpBasicInfo stand PipeUtilization, ArithmeticUtilization, Memory, MemoryL0, MemoryUB, L2Cache and
ResourceConflictRatio, each with the time and the cycles of the core; a timestamp may follow the name.
"""

import math
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from ingest.profiles.cells import duration_us, number, read_table
from ingest.profiles.facts.kernels import KernelBuilder, Kernels

_RENAMED = {
    "aic_cube_ratio": "aic_mac_ratio", "aic_cube_time(us)": "aic_mac_time(us)",
    "aic_cube_fp16_ratio": "aic_mac_fp16_ratio", "aic_cube_int8_ratio": "aic_mac_int8_ratio",
    "aic_time(us)": "aicore_time(us)",
}  # fmt: skip
"""Names of the same counters in tables of kernels."""
_SUMMED = ("_cycles", "_hit", "_allocate", "_fops", "_number", "_instructions", "_datas(KB)")
"""Ends of names that count over all cores."""


def is_basic(header: frozenset[str]) -> bool:
    """True if a CSV file is OpBasicInfo."""
    return {"Op Name", "Task Duration(us)", "Current Freq", "Rated Freq"} <= header


def is_counters(header: frozenset[str]) -> bool:
    """True if a CSV file has counters of one operator, a row a core."""
    return {"block_id", "sub_block_id"} <= header


class OperatorCollector:
    """A collector of the operators of one OPPROF folder, one run after the other."""

    def __init__(self, file: str) -> None:
        self._builder = KernelBuilder(file)
        self.clock: tuple[tuple[int, float], ...] = ()

    def take(self, basic: Path, counters: Iterable[Path], on_fault: Callable[[str], None]) -> None:
        """Take one operator: its row of OpBasicInfo, and its tables of counters."""
        cores: dict[str, dict[str, float]] = {}
        for path in counters:
            _by_core(path, cores, on_fault)
        for line, row in read_table(basic, on_fault):
            lasted = duration_us(row.get("Task Duration(us)"))
            if math.isnan(lasted):
                on_fault(f"{basic.name}: line {line} has no duration, and is left out")
                continue
            rated, current = number(row.get("Rated Freq")), number(row.get("Current Freq"))
            if rated > 0 and current > 0:
                self.clock = ((0, rated), (1, current))
            operator = row.get("Op Name", "")
            self._builder.add(
                line, None, duration_us=lasted, blocks=number(row.get("Block Dim", row.get("Block Num"))),
                pipes=over_cores(cores), name=operator, kind=operator, core=_core(row.get("Op Type", "")),
                device=row.get("Device Id", ""),
            )  # fmt: skip

    def build(self) -> Kernels:
        """The operators as kernels, with their counters summed or averaged over cores."""
        return self._builder.build()


def _core(kind: str) -> str:
    """The core as tables of kernels name it."""
    return {"mix": "MIX_AIC", "vector": "AI_VECTOR_CORE", "cube": "AI_CORE", "aicore": "AI_CORE"}.get(
        kind.lower(), kind
    )


def _by_core(path: Path, cores: dict[str, dict[str, float]], on_fault: Callable[[str], None]) -> None:
    for _, row in read_table(path, on_fault):
        held = cores.setdefault(f"{row['block_id']} {row['sub_block_id']}", {})
        for name, cell in row.items():
            value = number(cell)
            if name not in {"block_id", "sub_block_id"} and not math.isnan(value):
                held.setdefault(_RENAMED.get(name, name), value)


def over_cores(cores: dict[str, dict[str, float]]) -> dict[str, float]:
    """Counters of an operator from those of its cores; a core without a counter does not count for it.

    Counts are summed and times averaged. Ratios and rates are averaged by the time of each core: a share of
    all cycles, as in tables of kernels, to which a core that had nothing to do adds nothing.
    """
    held: dict[str, list[tuple[float, float]]] = {}
    for counted in cores.values():
        spent = _spent(counted)
        for name, value in counted.items():
            held.setdefault(name, []).append((value, spent))
    found = {}
    for name, rows in held.items():
        values, weights = (np.nan_to_num(np.array(column)) for column in zip(*rows, strict=True))
        if name.removesuffix("(estimate)").endswith(_SUMMED):
            found[name] = float(values.sum())
        elif name.endswith("(us)") or weights.sum() <= 0:
            found[name] = float(values.mean())
        else:
            found[name] = float(np.average(values, weights=weights))
    return found


def _spent(counted: dict[str, float]) -> float:
    """Time for which a core was at work, microseconds; nan if unknown."""
    return counted.get("aicore_time(us)", counted.get("aiv_time(us)", math.nan))
