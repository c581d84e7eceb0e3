"""Results of the Kernel Tuning Toolkit, as CSV: kernel, duration, parameters, hardware counters.

The unit is in the heading of the duration; the device is nowhere, unless the file name has it. Parameters are
the columns between the sizes and the first counter or property of the compiled kernel.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ingest.door.records import RecordError, Records
from ingest.files.content import Content
from ingest.files.csv_rows import csv_rows, header_of
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.kernels.ktt import NO_SIZE, STATUSES, kernel_task
from kg.errors import Fault
from kg.nouns.entities import Case

_KERNEL = "Kernel name"
_DURATION = re.compile(r"(?:Total|Computation|Kernel) duration \((\w+)\)")
_SIZES = {"Global size", "Local size", "Status"}
_PROPERTIES = {
    *("Maximum work-group size", "Local memory size", "Private memory size", "Constant memory size"),
    *("Registers count",),
}


def sniff(head: Head) -> bool:
    """True if the header names a kernel and its duration."""
    header = header_of(head.text)
    return not head.flaw and _KERNEL in header and any(_DURATION.fullmatch(name) for name in header)


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each row."""
    device = records.context.hardware
    if not device and (device := device_in(content.path, records)):
        records.guess(f"hardware {device!r} is taken from the file name")
    if not device:
        device = "unknown"
        records.guess("hardware 'unknown' stands for a device that the file does not name")
    records.guess(NO_SIZE)
    source = {"title": "Kernel Tuning Toolkit results", "path": content.reference}
    for place, row in csv_rows(content):
        if isinstance(row, Fault):
            yield row
            continue
        try:
            record = {
                "task": kernel_task(row.get(_KERNEL)),
                "hardware": {"name": device},
                "config": _parameters(row, records),
                "outcome": _outcome(row),
                "source": source,
            }
            yield records.case(record)
        except RecordError as fault:
            yield Fault(place=place, reason=str(fault))


def device_in(path: Path, records: Records) -> str:
    """The longest run of words in a file name that is known hardware; empty if none is."""
    words = re.split(r"[-_. ]+", path.name.partition(".")[0])
    runs = [(end - start, start) for start in range(len(words)) for end in range(start + 1, len(words) + 1)]
    for length, start in sorted(runs, key=lambda run: (-run[0], run[1])):
        name = " ".join(words[start : start + length])
        if length <= 6 and len(name) > 1 and records.hardware(name)[1]:
            return name
    return ""


def _parameters(row: Mapping[str, str], records: Records) -> dict[str, str]:
    found = {}
    for name, cell in row.items():
        if name in _PROPERTIES or "__" in name or "." in name:  # hardware counters: dram__sectors_read.sum
            records.guess("hardware counters of the runs are not kept")
            break
        if name and cell and name != _KERNEL and name not in _SIZES and not _DURATION.fullmatch(name):
            found[name] = cell
    return found


def _outcome(row: Mapping[str, str]) -> dict[str, object]:
    found = next((match for name in row if (match := _DURATION.fullmatch(name))), None)
    if found is None:
        raise RecordError(["no column has a duration and its unit"])
    duration, unit = found[0], found[1]
    outcome: dict[str, object] = {"metric": "kernel_time", "unit": unit, "value": None}
    state = row.get("Status") or "Ok"
    if state != "Ok":
        return outcome | {"status": STATUSES.get(state, state)}
    try:
        return outcome | {"status": "ok", "value": float(row[duration])}
    except ValueError:
        return outcome | {"status": "ok", "value": row[duration] or None}


FORMAT = Format(
    name="ktt-csv",
    title="Kernel Tuning Toolkit results as CSV",
    sniff=sniff,
    read=read,
)
