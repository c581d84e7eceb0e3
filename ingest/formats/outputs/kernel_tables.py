"""Tables of times of profilers and tuners of kernels, by ``data/outputs/kernels.yaml``; a row is a case."""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import data
from ingest.door.records import Records
from ingest.door.values import parse_value
from ingest.files.content import Content, ContentError
from ingest.files.safe_yaml import load_yaml
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.trackers.experiments import NO_HARDWARE, case_or_fault, parse_number
from kg.errors import Fault
from kg.nouns.entities import Case
from kg.terms.precisions import canonical_precision

_LONGEST = 1 << 16
_DURATION = "Duration"
"""Name of a kernel's time on the details page of Nsight Compute."""
_PREFIX = re.compile(r"^\s*(?:\[\d+\]:?\s*)?")
"""Text that hipblaslt-bench prints before a header: the number of the device."""
_FORMAT = re.compile(r"(?P<name>\w+?)(?:_r)?(?::\w+)?")
"""``f16_r`` of ROCm and ``f16:column`` of CUTLASS."""
_FORMATS = {
    "s8": "int8",
    "i8": "int8",
    "u8": "uint8",
    "s4": "int4",
    "e4m3": "fp8",
    "e5m2": "fp8",
    "f8": "fp8",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingTable:
    """Table that one tool prints; the head of ``data/outputs/kernels.yaml`` says what each field means."""

    id: str
    title: str
    source: str
    header: tuple[str, ...]
    operator: str
    sizes: Mapping[str, str]
    time: tuple[str, str]
    formats: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    success: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    device: str = ""
    rates: tuple[str, ...] = ()
    long: tuple[str, ...] = ()

    def is_header(self, line: str) -> bool:
        """True if a line names its columns."""
        return all(name in line for name in self.header) and set(self.header) <= set(_cells(line))

    def chosen(self, row: Mapping[str, str]) -> dict[str, object]:
        """The settings of a row."""
        return {
            name: parse_value(cell)
            for name, cell in row.items()
            if cell
            and any(name == one or (one.endswith("*") and name.startswith(one[:-1])) for one in self.settings)
        }


@cache
def timing_tables() -> tuple[TimingTable, ...]:
    """All tables of kernel times that are read."""
    document: Any = load_yaml(data.text("outputs/kernels.yaml").encode())
    return tuple(_timing_table(row) for row in document["tables"])


def _timing_table(row: Mapping[str, Any]) -> TimingTable:
    lists = ("header", "time", "formats", "traits", "settings", "after", "rates", "long")
    fields: dict[str, Any] = {name: tuple(item) if name in lists else item for name, item in row.items()}
    return TimingTable(**fields)


def sniff(head: Head) -> bool:
    """True if one of its lines is the header of a table."""
    return _table_of(head.text) is not None


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each row, or for each setting that is a column of it."""
    try:
        yield from _read(content, records)
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))


def _read(content: Content, records: Records) -> Iterator[Case | Fault]:
    table: TimingTable | None = None
    header: list[str] = []
    device, place = "", ""
    row: dict[str, str] = {}
    units: dict[str, str] = {}
    for number, raw in content.lines():
        line = "" if raw is None else raw[:_LONGEST].decode(errors="replace")
        for named in (_groups(one.device, line) for one in timing_tables() if one.device):
            device = named.get("hardware", device)
        if (found := _table_of(line)) is not None:
            yield from _cases(table, row, place, device, content, records)
            table, header, row = found, _cells(line), {}
            continue
        if table is None:
            continue
        after = {name: text for one in table.after for name, text in _groups(one, line).items()}
        cells = _cells(line)
        if table.long and set(table.long) <= set(header[: len(cells)]):
            cells += [""] * (len(header) - len(cells))  # Nsight Compute ends a row with its last value
        if after:
            row |= after if row else {}
        elif len(cells) == len(header) and not cells[0]:
            units = dict(zip(header, cells, strict=True))  # Nsight Compute has a row of units
        elif len(cells) == len(header) and table.long and table.long[1] in header:
            one = dict(zip(header, cells, strict=True))
            key, name, symbol, value = (one[column] for column in table.long)
            if row.get(table.long[0]) != key:
                yield from _cases(table, row, place, device, content, records)
                row, place = one, f"line {number}"
            name = table.time[0] if name == _DURATION else name
            row |= {name: value, f"{name} unit": symbol}
        elif len(cells) == len(header):
            yield from _cases(table, row, place, device, content, records)
            row, place = dict(zip(header, cells, strict=True)), f"line {number}"
            row |= {f"{name} unit": symbol for name, symbol in units.items() if symbol}
        elif len(cells) > len(header) // 2:
            yield Fault(place=f"line {number}", reason=f"{len(cells)} cells under {len(header)} columns")
    yield from _cases(table, row, place, device, content, records)


def _cases(
    table: TimingTable | None,
    row: Mapping[str, str],
    place: str,
    device: str,
    content: Content,
    records: Records,
) -> Iterator[Case | Fault]:
    if table is None or not row:
        return
    hardware = device if device and records.hardware(device)[1] else records.context.hardware or device
    if not hardware:
        yield Fault(place=place, reason=NO_HARDWARE)
        return
    try:
        task = _task(table, row)
        timed = list(_timed(table, row))
    except ContentError as fault:
        yield Fault(place=place, reason=str(fault))
        return
    for settings, outcome in timed:
        record: dict[str, object] = {
            "task": task,
            "hardware": {"name": hardware},
            "config": settings,
            "outcome": outcome,
            "source": {"title": table.title.partition(" (")[0], "path": content.reference},
        }
        yield case_or_fault(records, place, record)


def _task(table: TimingTable, row: Mapping[str, str]) -> dict[str, object]:
    sizes = {name: parse_value(row[column]) for column, name in table.sizes.items() if row.get(column)}
    if sizes.get("B") == 1:
        del sizes["B"]
    formats = dict.fromkeys(_format(row[name]) for name in table.formats if row.get(name))
    task: dict[str, object] = {
        "kind": "kernel",
        "op": row.get(table.operator, table.operator),
        "shape": sizes,
        "traits": {name: row[name] for name in table.traits if row.get(name)},
    }
    return task | ({"dtype": "/".join(formats)} if formats else {})


def _format(cell: str) -> str:
    match = _FORMAT.fullmatch(cell)
    name = match["name"] if match is not None else cell
    return _FORMATS.get(name, canonical_precision(name))


def _timed(
    table: TimingTable, row: Mapping[str, str]
) -> Iterator[tuple[dict[str, object], dict[str, object]]]:
    """Settings and outcome of a row, or of each of its columns that is a rate.

    Raises:
        ContentError: A number is none.
    """
    column = table.time[0]
    symbol = row.get(f"{column} unit", table.time[1]).replace("second", "s")  # nsecond of older ones
    outcome: dict[str, object] = {"metric": "kernel_time", "unit": symbol, "value": None}
    failed = [f"{name}: {row[name]}" for name, good in table.success.items() if row.get(name) not in good]
    if failed:
        yield table.chosen(row), outcome | {"status": "failed", "reason": "; ".join(failed)}
    elif row.get(column):
        time = parse_number(row[column], column)
        yield table.chosen(row), outcome | {"value": time, "status": "ok"}
    elif table.rates:
        prefix, work = table.rates
        operations = parse_number(row.get(work, ""), work)
        for name, cell in row.items():
            if name.startswith(prefix) and (rate := parse_number(cell, name)) > 0:
                microseconds = operations / rate / 1e3  # Gflop/s
                yield {"WinnerName": name}, outcome | {"value": microseconds, "status": "ok"}
    else:
        raise ContentError(f"no {column}")


def _table_of(text: str) -> TimingTable | None:
    tables = [table for table in timing_tables() if all(name in text for name in table.header)]
    lines = text.splitlines() if tables else []
    return next((table for line in lines for table in tables if table.is_header(line)), None)


def _cells(line: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([_PREFIX.sub("", line)], skipinitialspace=True), [])]
    except csv.Error:
        return []


def _groups(pattern: str, line: str) -> dict[str, str]:
    found = re.search(pattern, line)
    return {} if found is None else found.groupdict()


FORMAT = Format(
    name="kernel-tables",
    title="tables of kernel times: CUTLASS profiler, Nsight Compute, hipblaslt-bench, Tensile",
    sniff=sniff,
    read=read,
)
