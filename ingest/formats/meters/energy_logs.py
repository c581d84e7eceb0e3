"""Logs of energy: RAPL counters, windows of Zeus, emissions of CodeCarbon."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ingest.files.content import Content
from ingest.files.csv_rows import csv_rows, header_of
from ingest.files.sniffing import Head
from ingest.formats.meters.table import (
    NO_ZONE,
    Knowledge,
    LogTimes,
    MeterClock,
    MeteredEnergy,
    MeterFormat,
    MeterLog,
    counted,
)
from kg.errors import Fault
from kg.terms.units import J_PER_KWH

_GPU_ENERGY = re.compile(r"(gpu|cpu|dram)(\d+)_energy")
_RAM_NOTE = "CodeCarbon models the memory's power from its size"
_CPU_NOTE = "CodeCarbon does not say whether it read the CPU's counter or took its nominal power: assumed"


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def read_rapl(content: Content, clock: MeterClock) -> MeterLog:
    """Readings of ``energy_uj`` over ``time``; ``zone`` and ``max_energy_range_uj`` where there are any."""
    log = MeterLog()
    samples: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    ranges: dict[str, float] = {}
    times = LogTimes(clock)
    for place, row in csv_rows(content):
        if isinstance(row, Fault):
            log.faults.append(row)
            continue
        value = _number(row.get("energy_uj"))
        try:
            text = row.get("time") or row.get("timestamp") or ""
            moment = _number(text)
            moment = times.read(text) if moment is None else moment
        except ValueError as fault:
            log.faults.append(Fault(place=place, reason=str(fault)))
            continue
        if value is None:
            log.faults.append(Fault(place=place, reason="no energy_uj: reading it needs the rights of root"))
            continue
        part = f"cpu {row.get('zone') or 'package-0'}"
        samples[part].append((moment, value / 1e6))
        reach = _number(row.get("max_energy_range_uj"))
        if reach:
            ranges[part] = reach / 1e6
    for part in _inner_zones(samples):
        log.notes.append(f"{part} lies within another zone: counted once")
        del samples[part]
    for part, points in samples.items():
        moments = times.settle([moment for moment, _ in points])
        settled = zip(moments, (value for _, value in points), strict=True)
        energy = counted(part, settled, Knowledge.MEASURED, range_j=ranges.get(part))
        if energy is not None:
            log.energies.append(replace(energy, has_zone=times.is_sure))
    if not times.is_sure:
        log.notes.append(NO_ZONE)
    return log


def _inner_zones(parts: Iterable[str]) -> list[str]:
    """Zones of RAPL whose energy another one has too: a package has its cores, psys has everything."""
    names = {part.removeprefix("cpu ") for part in parts}
    inner = names - {"psys"} if "psys" in names else set()
    if any(name.startswith("package") for name in names):
        inner |= names & {"core", "uncore"}
    return sorted(f"cpu {name}" for name in inner)


def read_zeus(content: Content, clock: MeterClock) -> MeterLog:  # noqa: ARG001  has its own times
    """Windows of ZeusMonitor: elapsed time and joule by device."""
    log = MeterLog()
    for place, row in csv_rows(content):
        if isinstance(row, Fault):
            log.faults.append(row)
            continue
        duration = _number(row.get("elapsed_time"))
        for name, cell in row.items():
            match = _GPU_ENERGY.fullmatch(name)
            value = _number(cell)
            if match is None or not cell:
                continue
            if value is None or duration is None:
                log.faults.append(Fault(place=place, reason=f"{name} {cell[:20]!r} is no energy"))
                continue
            log.energies.append(
                MeteredEnergy(
                    part=f"{match[1]} {match[2]}",
                    energy_j=value,
                    duration_s=duration,
                    start_s=_number(row.get("start_time")),
                    kind=Knowledge.MEASURED,
                )
            )
    return log


def read_codecarbon(content: Content, clock: MeterClock) -> MeterLog:
    """Rows of CodeCarbon's emissions.csv: energy by part, each as well known as the tracker knows it."""
    log = MeterLog(notes=[_RAM_NOTE, _CPU_NOTE])
    times = LogTimes(clock)
    rows: list[tuple[Mapping[str, str], float]] = []
    ends: list[float | None] = []
    kinds = {"gpu": Knowledge.MEASURED, "cpu": Knowledge.ASSUMED, "ram": Knowledge.MODELLED}
    for place, row in csv_rows(content):
        if isinstance(row, Fault):
            log.faults.append(row)
            continue
        duration = _number(row.get("duration"))
        if duration is None:
            log.faults.append(Fault(place=place, reason="no duration"))
            continue
        try:
            ends.append(times.read(row["timestamp"]))
        except (KeyError, ValueError):
            ends.append(None)
        rows.append((row, duration))
    settled = iter(times.settle([end for end in ends if end is not None]))
    for (cells, duration), end in zip(rows, ends, strict=True):
        start = None if end is None else next(settled) - duration
        for part, kind in kinds.items():
            value = _number(cells.get(f"{part}_energy"))
            if value:
                log.energies.append(
                    MeteredEnergy(
                        part=part,
                        energy_j=value * J_PER_KWH,
                        duration_s=duration,
                        start_s=start,
                        kind=kind,
                        has_zone=times.is_sure,
                    )
                )
    if not times.is_sure:
        log.notes.append(NO_ZONE)
    return log


def _has(head: Head, *names: str) -> bool:
    header = header_of(head.text)
    return all(name in header for name in names)


FORMATS = (
    MeterFormat(
        name="rapl",
        title="CSV of RAPL energy_uj over time",
        sniff=lambda head: _has(head, "energy_uj"),
        read=read_rapl,
    ),
    MeterFormat(
        name="zeus",
        title="log of ZeusMonitor",
        sniff=lambda head: _has(head, "window_name", "elapsed_time"),
        read=read_zeus,
    ),
    MeterFormat(
        name="codecarbon",
        title="emissions.csv of CodeCarbon",
        sniff=lambda head: _has(head, "emissions", "duration", "energy_consumed"),
        read=read_codecarbon,
    ),
)
