"""Logs of power: npu-smi's watch, its report of a moment, exporters of Prometheus, and nvidia-smi."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from ingest.files.content import Content, ContentError
from ingest.files.csv_rows import csv_rows, header_of
from ingest.files.sniffing import Head
from ingest.formats.meters.table import (
    NO_ZONE,
    Knowledge,
    LogTimes,
    MeterClock,
    MeterFormat,
    MeterLog,
    counted,
    integrate,
)
from kg.errors import Fault

Samples = defaultdict[str, list[tuple[float, float]]]

_WATCH = re.compile(r"NpuID\(Idx\)\s+ChipId\(Idx\)\s+(?:\S.*?\s)?Power\(W\)", re.IGNORECASE)
_MOMENT = re.compile(r"(?:NPU Real-time Power|Power Dissipation)\s*\(W\)\s*:\s*(\S+)", re.IGNORECASE)
_CHIP = re.compile(r"Chip ID\s*:\s*(\d+)", re.IGNORECASE)
_NPU = re.compile(r"NPU ID\s*:\s*(\d+)", re.IGNORECASE)
_METRIC = re.compile(
    r"^(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>\S+)(?:\s+(?P<time>\d+))?\s*$"
)
_LABEL = re.compile(r'(?<!\w)(\w++)="((?:[^"\\]|\\.)*+)"')
_POWER_METRICS = {
    "npu_chip_info_power": "npu",
    "DCGM_FI_DEV_POWER_USAGE": "gpu",
    "DCGM_FI_DEV_POWER_USAGE_INSTANT": "gpu",
}
_ENERGY_METRICS = {
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": ("gpu ", 1e-3),
    "node_rapl_package_joules_total": ("cpu package-", 1.0),  # named as RAPL itself names it
}
_CARD = " (card)"
_HOST_LABELS = (
    "Hostname", "hostname", "host", "node", "nodename", "kubernetes_node", "exported_instance", "instance"
)  # fmt: skip
_ID_LABELS = ("id", "npu", "npuID", "gpu", "index", "device")


def _text_lines(content: Content, log: MeterLog) -> Iterator[tuple[int, str]]:
    try:
        for number, line in content.lines():
            if line is not None:
                yield number, line.decode("utf-8", errors="replace").strip()
    except ContentError as fault:
        log.faults.append(Fault(place="", reason=str(fault)))


def _finish(log: MeterLog, samples: Samples, *, times: LogTimes | None) -> MeterLog:
    """Integrate the readings; ``times`` is None where the log has none."""
    for part, points in samples.items():
        if times is not None:
            moments = times.settle([moment for moment, _ in points])
            points = list(zip(moments, (value for _, value in points), strict=True))  # noqa: PLW2901
        energy = integrate(part, points, Knowledge.MEASURED, has_times=times is not None)
        if energy is None:
            log.faults.append(Fault(place=part, reason="one reading: power over no time is no energy"))
        else:
            log.energies.append(replace(energy, has_zone=times is None or times.is_sure))
    if times is not None and not times.is_sure:
        log.notes.append(NO_ZONE)
    return log


def _watt(text: str) -> float | None:
    try:
        value = float(text.removesuffix("W").strip())
    except ValueError:
        return None
    return value if 0 <= value < 1e5 else None


def read_npu_watch(content: Content, clock: MeterClock) -> MeterLog:
    """``npu-smi info watch -s p``: a row a chip and round, without times; rounds count by their interval."""

    def readings(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
        place = -1
        for number, line in lines:
            cells = line.split()
            if _WATCH.search(line):
                names = re.split(r"\s{2,}|\t", line)
                place = next((at for at, name in enumerate(names) if name.startswith("Power(W)")), -1)
            elif 0 <= place < len(cells) and cells[0].isdigit():
                yield number, f"npu {cells[0]}.{cells[1]}", cells[place]

    return _finish(*_without_times(content, clock, readings), times=None)


def read_npu_moments(content: Content, clock: MeterClock) -> MeterLog:
    """Answers of ``npu-smi info -t power -i ID``, one after the other; a card's has its chips' in it."""

    def readings(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
        npu, chip = "0", ""
        for number, line in lines:
            if match := _NPU.search(line):
                npu, chip = match[1], ""
            elif match := _CHIP.search(line):
                chip = f".{match[1]}"
            elif match := _MOMENT.search(line):
                is_card = "dissipation" in line.lower()
                yield number, f"npu {npu}{_CARD if is_card else chip}", match[1]

    log, samples = _without_times(content, clock, readings)
    cards = {part.removesuffix(_CARD) for part in samples if part.endswith(_CARD)}
    for part in [part for part in samples if part.partition(".")[0] in cards]:
        log.notes.append(f"the card's power has that of {part} in it: counted once")
        del samples[part]
    return _finish(log, samples, times=None)


def _without_times(
    content: Content,
    clock: MeterClock,
    readings: Callable[[Iterable[tuple[int, str]]], Iterator[tuple[int, str, str]]],
) -> tuple[MeterLog, Samples]:
    """The log and its readings, each with line, part and cell, which follow at the assumed interval."""
    log = MeterLog()
    samples: Samples = defaultdict(list)
    for number, part, cell in readings(_text_lines(content, log)):
        value = _watt(cell)
        if value is None:
            log.faults.append(Fault(place=f"line {number}", reason=f"{cell[:20]!r} is no power"))
        else:
            samples[part].append((len(samples[part]) * clock.interval_s, value))
    log.notes.append(f"the log has no times: {clock.interval_s:g} s between its readings is assumed")
    return log, samples


def read_exporter(content: Content, clock: MeterClock) -> MeterLog:
    """Scrapes of an exporter in Prometheus' text format: gauges of power, counters of energy."""
    log = MeterLog()
    gauges: defaultdict[str, Samples] = defaultdict(lambda: defaultdict(list))
    counters: Samples = defaultdict(list)
    has_times = True
    for number, line in _text_lines(content, log):
        match = _METRIC.match(line)
        if match is None or match["name"] not in {*_POWER_METRICS, *_ENERGY_METRICS}:
            continue
        labels = dict(_LABEL.findall(match["labels"] or ""))
        device = next((labels[name] for name in _ID_LABELS if name in labels), "0")
        host = next((f" of {labels[name]}" for name in _HOST_LABELS if labels.get(name)), "")
        name = match["name"]
        if name in _POWER_METRICS:
            value = _watt(match["value"])
            series = gauges[f"{_POWER_METRICS[name]} {device}{host}"][name]
        else:
            part, factor = _ENERGY_METRICS[name]
            value = _joule(match["value"], factor)
            series = counters[f"{part}{device}{host}"]
        if value is None:
            log.faults.append(
                Fault(place=f"line {number}", reason=f"{name} {match['value'][:20]} is no reading")
            )
            continue
        has_times = has_times and match["time"] is not None
        series.append((int(match["time"]) / 1000 if match["time"] else len(series) * clock.interval_s, value))
    if not has_times:
        log.notes.append(f"the scrapes have no times: {clock.interval_s:g} s between them is assumed")
    for part, series in counters.items():
        energy = counted(part, series, Knowledge.MEASURED, has_times=has_times)
        if energy is not None:
            log.energies.append(energy)
            gauges.pop(part, None)  # the counter saw what lies between the gauge's readings
    samples: Samples = defaultdict(list)
    for part, by_name in gauges.items():  # of two gauges of one device the first known one counts
        samples[part] = next((by_name[name] for name in _POWER_METRICS if by_name.get(name)), [])
    return _finish(log, samples, times=LogTimes(clock, has_zone=True) if has_times else None)


def _joule(text: str, factor: float) -> float | None:
    try:
        value = float(text) * factor
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def read_nvidia(content: Content, clock: MeterClock) -> MeterLog:
    """``nvidia-smi --query-gpu=timestamp,index,power.draw --format=csv``, with or without units."""
    log = MeterLog()
    samples: Samples = defaultdict(list)
    times = LogTimes(clock)
    for place, row in csv_rows(content):
        if isinstance(row, Fault):
            log.faults.append(row)
            continue
        power = next((row[name] for name in row if name.startswith("power.draw")), "")
        value = _watt(power)
        if value is None:
            log.faults.append(Fault(place=place, reason=f"no power ({power[:20]})"))
            continue
        try:
            moment = times.read(row.get("timestamp", "").replace("/", "-"))
        except ValueError as fault:
            log.faults.append(Fault(place=place, reason=str(fault)))
            continue
        samples[f"gpu {row.get('index') or row.get('uuid') or '0'}"].append((moment, value))
    return _finish(log, samples, times=times)


def _is_nvidia(head: Head) -> bool:
    header = header_of(head.text)
    return "timestamp" in header and any(name.startswith("power.draw") for name in header)


def _is_exporter(head: Head) -> bool:
    return any(
        re.search(rf"^{name}[{{ ]", head.text, re.MULTILINE) for name in (*_POWER_METRICS, *_ENERGY_METRICS)
    )


FORMATS = (
    MeterFormat(
        name="npu-smi-watch",
        title="log of npu-smi info watch with Power(W)",
        sniff=lambda head: bool(_WATCH.search(head.text)),
        read=read_npu_watch,
    ),
    MeterFormat(
        name="npu-smi-power",
        title="answers of npu-smi info -t power",
        sniff=lambda head: bool(_MOMENT.search(head.text)),
        read=read_npu_moments,
    ),
    MeterFormat(
        name="prometheus", title="scrapes of an NPU or DCGM exporter", sniff=_is_exporter, read=read_exporter
    ),
    MeterFormat(
        name="nvidia-smi-csv", title="CSV of nvidia-smi with power.draw", sniff=_is_nvidia, read=read_nvidia
    ),
)
