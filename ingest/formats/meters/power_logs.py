"""Logs of power: npu-smi's watch, its report of a moment, exporters of Prometheus, and nvidia-smi."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ingest.files.content import ContentError
from ingest.files.csv_rows import csv_rows, header_of
from ingest.formats.meters.table import Knowledge, MeterFormat, MeterLog, counted, integrate
from kg.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.files.content import Content
    from ingest.files.sniffing import Head

Samples = defaultdict[str, list[tuple[float, float]]]

_WATCH = re.compile(r"NpuID\(Idx\)\s+ChipId\(Idx\)\s+(?:\S.*?\s)?Power\(W\)", re.IGNORECASE)
_MOMENT = re.compile(r"(?:NPU Real-time Power|Power Dissipation)\s*\(W\)\s*:\s*(\S+)", re.IGNORECASE)
_NPU = re.compile(r"NPU ID\s*:\s*(\d+)", re.IGNORECASE)
_METRIC = re.compile(
    r"^(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>\S+)(?:\s+(?P<time>\d+))?\s*$"
)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_POWER_METRICS = {
    "npu_chip_info_power": "npu",
    "DCGM_FI_DEV_POWER_USAGE": "gpu",
    "DCGM_FI_DEV_POWER_USAGE_INSTANT": "gpu",
}
_ENERGY_METRICS = {
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": ("gpu", 1e-3),
    "node_rapl_package_joules_total": ("cpu package", 1.0),
}
_ID_LABELS = ("id", "npu", "npuID", "gpu", "index", "device")


def _text_lines(content: Content, log: MeterLog) -> Iterator[tuple[int, str]]:
    try:
        for number, line in content.lines():
            if line is not None:
                yield number, line.decode("utf-8", errors="replace").strip()
    except ContentError as fault:
        log.faults.append(Fault(place="", reason=str(fault)))


def _finish(log: MeterLog, samples: Samples, *, has_times: bool) -> MeterLog:
    for part, points in samples.items():
        energy = integrate(part, points, Knowledge.MEASURED, has_times=has_times)
        if energy is None:
            log.faults.append(Fault(place=part, reason="one reading: power over no time is no energy"))
        else:
            log.energies.append(energy)
    return log


def _watt(text: str) -> float | None:
    try:
        value = float(text.removesuffix("W").strip())
    except ValueError:
        return None
    return value if 0 <= value < 1e5 else None


def read_npu_watch(content: Content, interval_s: float) -> MeterLog:
    """``npu-smi info watch -s p``: a row a chip and round, without times; rounds count by their interval."""
    log = MeterLog()
    samples: Samples = defaultdict(list)
    place = -1
    for number, line in _text_lines(content, log):
        if _WATCH.search(line):
            names = re.split(r"\s{2,}|\t", line)
            place = next((at for at, name in enumerate(names) if name.startswith("Power(W)")), -1)
            continue
        cells = line.split()
        if place < 0 or len(cells) <= place or not cells[0].isdigit():
            continue
        value = _watt(cells[place])
        if value is None:
            log.faults.append(Fault(place=f"line {number}", reason=f"{cells[place][:20]!r} is no power"))
            continue
        points = samples[f"npu {cells[0]}.{cells[1]}"]
        points.append((len(points) * interval_s, value))
    log.notes.append(f"the log has no times: {interval_s:g} s between its readings is assumed")
    return _finish(log, samples, has_times=False)


def read_npu_moments(content: Content, interval_s: float) -> MeterLog:
    """Answers of ``npu-smi info -t power -i ID``, one after the other; a card's power apart from a chip's."""
    log = MeterLog()
    samples: Samples = defaultdict(list)
    npu = "0"
    for number, line in _text_lines(content, log):
        if match := _NPU.search(line):
            npu = match[1]
        elif match := _MOMENT.search(line):
            value = _watt(match[1])
            if value is None:
                log.faults.append(Fault(place=f"line {number}", reason=f"{match[1][:20]!r} is no power"))
                continue
            points = samples[f"npu {npu}" + (" (card)" if "dissipation" in line.lower() else "")]
            points.append((len(points) * interval_s, value))
    log.notes.append(f"the log has no times: {interval_s:g} s between its readings is assumed")
    return _finish(log, samples, has_times=False)


def read_exporter(content: Content, interval_s: float) -> MeterLog:
    """Scrapes of an exporter in Prometheus' text format: gauges of power, counters of energy."""
    log = MeterLog()
    samples: Samples = defaultdict(list)
    counters: Samples = defaultdict(list)
    has_times = True
    for number, line in _text_lines(content, log):
        match = _METRIC.match(line)
        if match is None or match["name"] not in {*_POWER_METRICS, *_ENERGY_METRICS}:
            continue
        labels = dict(_LABEL.findall(match["labels"] or ""))
        device = next((labels[name] for name in _ID_LABELS if name in labels), "0")
        try:
            value = float(match["value"])
        except ValueError:
            log.faults.append(Fault(place=f"line {number}", reason=f"{match['value'][:20]!r} is no number"))
            continue
        if match["name"] in _POWER_METRICS:
            points, part, factor = samples, _POWER_METRICS[match["name"]], 1.0
        else:
            points, (part, factor) = counters, _ENERGY_METRICS[match["name"]]
        has_times = has_times and match["time"] is not None
        series = points[f"{part} {device}"]
        time = int(match["time"]) / 1000 if match["time"] else len(series) * interval_s
        series.append((time, value * factor))
    if not has_times:
        log.notes.append(f"the scrapes have no times: {interval_s:g} s between them is assumed")
    for part, series in counters.items():
        energy = counted(part, series, Knowledge.MEASURED)
        if energy is not None:
            log.energies.append(energy)
            samples.pop(part, None)  # the counter saw what lies between the gauge's readings
    return _finish(log, samples, has_times=has_times)


def read_nvidia(content: Content, interval_s: float) -> MeterLog:  # noqa: ARG001  has its own times
    """``nvidia-smi --query-gpu=timestamp,index,power.draw --format=csv``, with or without units."""
    log = MeterLog()
    samples: Samples = defaultdict(list)
    for place, row in csv_rows(content):
        if isinstance(row, Fault):
            log.faults.append(row)
            continue
        power = next((row[name] for name in row if name.startswith("power.draw")), "")
        value = _watt(power)
        moment = _nvidia_time(row.get("timestamp", ""))
        if value is None or moment is None:
            what = "time" if value is not None else f"power ({power[:20]})"
            log.faults.append(Fault(place=place, reason=f"no {what}"))
            continue
        samples[f"gpu {row.get('index') or row.get('uuid') or '0'}"].append((moment, value))
    log.notes.append("nvidia-smi prints local times without a zone: taken as UTC")
    return _finish(log, samples, has_times=True)


def _nvidia_time(text: str) -> float | None:
    for form in ("%Y/%m/%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S"):
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    return None


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
