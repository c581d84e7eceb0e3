"""Counters of the device and the host that msprof samples: bandwidths, engines, cores, processors.

Each table becomes averages by counter; tables that hold averages already are taken as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ingest.profiles.cells import number, read_table
from ingest.profiles.facts.details import Counter
from ingest.profiles.facts.place import FactPlace


@dataclass(frozen=True, slots=True)
class _Layout:
    """A table of counters.

    Attributes:
        needs: Columns by which it is known.
        prefix: Beginning of the names of its counters.
        keys: Columns that identify its rows.
        values: Columns of numbers with the name and the unit of their counter; empty: every column of
            numbers, by its own name.
        peak: Column of the largest value, if it has one.
    """

    needs: frozenset[str]
    prefix: str
    keys: tuple[str, ...]
    values: tuple[tuple[str, str, str], ...] = ()
    peak: str = ""


_NETWORK = (
    ("Bandwidth(MB/s)", "bandwidth", "MB/s"), ("Rx Bandwidth efficiency(%)", "receiving use", "%"),
    ("Tx Bandwidth efficiency(%)", "sending use", "%"), ("rxError rate(%)", "receiving errors", "%"),
    ("txError rate(%)", "sending errors", "%"), ("rxDropped rate(%)", "receiving drops", "%"),
    ("txDropped rate(%)", "sending drops", "%"),
)  # fmt: skip
_BOTH = (("Read(MB/s)", "read", "MB/s"), ("Write(MB/s)", "write", "MB/s"))
_BUSY = (("User(%)", "user", "%"), ("Sys(%)", "system", "%"), ("IoWait(%)", "input and output", "%"),
         ("Idle(%)", "idle", "%"))  # fmt: skip

_LAYOUTS = (
    _Layout(frozenset({"Metric", "Read(MB/s)", "Write(MB/s)"}), "memory", ("Metric",), _BOTH),
    _Layout(frozenset({"Mode", "Max", "Min", "Average"}), "HCCS", ("Mode",),
            (("Average", "", "MB/s"),), "Max"),
    _Layout(frozenset({"Mode", "Max", "Min", "Avg"}), "PCIe", ("Mode",), (("Avg", "", ""),), "Max"),
    _Layout(frozenset({"Mode", "Task", "Hit Rate(%)", "Throughput(MB/s)"}), "LLC", ("Mode", "Task"),
            (("Hit Rate(%)", "hits", "%"), ("Throughput(MB/s)", "throughput", "MB/s"))),
    _Layout(frozenset({"Bandwidth(MB/s)", "rxPacket/s", "txPacket/s"}), "network", ("funcId",), _NETWORK),
    _Layout(frozenset({"Engine Type", "Engine ID", "All Utilization(%)"}), "DVPP",
            ("Engine Type", "Engine ID"),
            (("All Utilization(%)", "use", "%"), ("All Time(us)", "busy", "us"))),
    _Layout(frozenset({"PortId", "UBRxPortBandWidth(MB/s)"}), "UB", ("PortId",),
            (("UBRxPortBandWidth(MB/s)", "receiving", "MB/s"),
             ("UBTxPortBandWidth(MB/s)", "sending", "MB/s"))),
    _Layout(frozenset({"Cpu Type", "User(%)", "Idle(%)"}), "processor", ("Cpu Type",), _BUSY),
    _Layout(frozenset({"TLB Hit Rate", "TLB Miss Rate"}), "TLB", (), (("TLB Hit Rate", "hits", "1"),)),
    _Layout(frozenset({"Total Cpu Numbers", "Occupied Cpu Numbers"}), "host", (),
            (("Total Cpu Numbers", "processors", "1"), ("Occupied Cpu Numbers", "processors in use", "1"))),
)  # fmt: skip
_SAMPLED_CORES = (
    *("mac_ratio", "vec_ratio", "mac_fp16_ratio", "vec_fp32_ratio", "l1_read_bw(GB/s)", "l0a_read_bw(GB/s)"),
    *("ub_read_bw_vector(GB/s)", "vec_bank_cflt_ratio", "write_cache_hit", "read_main_memory_datas(KB)"),
)
_CORE = ("Core ID", "Core Id", "Core", "core_id", "coreid")


def is_system_table(header: frozenset[str]) -> bool:
    """True if a CSV file holds sampled counters that are read."""
    return _layout(header) is not None


def _layout(header: frozenset[str]) -> _Layout | None:
    for layout in _LAYOUTS:
        if layout.needs <= header:
            return layout
    if header & set(_SAMPLED_CORES) and not header & {"block_id", "Op Name", "Name"}:
        return _Layout(frozenset(), "core", tuple(name for name in _CORE if name in header))
    return None


def read_counters(path: Path, file: str, on_fault: Callable[[str], None]) -> list[Counter]:
    """Averages over the rows that count the same."""
    layout: _Layout | None = None
    sums: dict[tuple[str, str, str], list[float]] = {}
    rows: dict[tuple[str, str, str], int] = {}
    for line, row in read_table(path, on_fault):
        layout = layout or _layout(frozenset(row))
        if layout is None:
            return []
        key = " ".join(row[name] for name in layout.keys if row.get(name))
        device = row.get("Device_id", "")
        columns = layout.values or [
            (name, name, _unit(name)) for name in row if name not in {*layout.keys, "Device_id"}
        ]
        for column, name, unit in columns:
            value = number(row.get(column))
            if math.isnan(value):
                continue
            full = " ".join(part for part in (_prefix(layout, path), key, name) if part)
            place = device, full, unit or _unit(key)
            peak = number(row.get(layout.peak)) if layout.peak else value
            held = sums.setdefault(place, [0.0, 0.0, peak])
            held[0] += value
            held[1] += 1
            held[2] = max(held[2], peak)
            rows.setdefault(place, line)
    return [
        Counter(
            name=name,
            unit=unit,
            mean=total / n,
            peak=None if math.isnan(peak) else peak,
            place=FactPlace(file, (rows[device, name, unit],)),
            device=device,
        )
        for (device, name, unit), (total, n, peak) in sums.items()
    ]


def _prefix(layout: _Layout, path: Path) -> str:
    """The beginning of the names of counters: of tables of one layout, from the file's name."""
    stem = path.name.lower()
    prefixes = {"hbm": "HBM", "ddr": "DDR", "roce": "RoCE", "nic": "NIC",
            "ai_vector_core": "vector core", "ai_core": "cube core"}  # fmt: skip
    return next((name for start, name in prefixes.items() if stem.startswith(start)), layout.prefix)


def _unit(name: str) -> str:
    """The unit that a column has in brackets; 1 for a ratio."""
    bracket = name.rpartition("(")[2]
    if name.endswith(")"):
        return bracket.rstrip(")")
    return "1"
