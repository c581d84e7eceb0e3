"""Case JSONL: one JSON object a line (docs/formats.md), uncompressed or gzip."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ingest.door.records import RecordError
from ingest.door.writing import to_record
from ingest.files.content import MAXIMUM_LINE, ContentError
from ingest.formats.format import Format
from kg.errors import Fault
from kg.nouns.values import canonical_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.door.records import Records
    from ingest.files.content import Content
    from ingest.files.sniffing import Head
    from kg.nouns.entities import Case


def sniff(head: Head) -> bool:
    """True if any line begins an object and names both a task and an outcome, outside of a journal."""
    return any(
        line.lstrip().startswith("{") and '"task"' in line and '"outcome"' in line and '"op_code"' not in line
        for line in head.text.splitlines()
    )


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """The case of each line, or the faults of it."""
    loads, case = json.loads, records.case
    number = 0
    try:
        for number, line in content.lines():
            if line is None:
                yield Fault(place=f"line {number}", reason=f"longer than {MAXIMUM_LINE >> 20} MiB")
                continue
            if not line or line.isspace():
                continue
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                yield case(loads(text))
            except RecordError as fault:
                yield Fault(place=f"line {number}", reason=str(fault))
            except json.JSONDecodeError as fault:
                yield Fault(place=f"line {number}", reason=f"no JSON: {fault.msg} at column {fault.colno}")
            except UnicodeDecodeError as fault:
                yield Fault(place=f"line {number}", reason=f"no UTF-8 at byte {fault.start + 1}")
            except RecursionError:
                yield Fault(place=f"line {number}", reason="nested without end")
            except OverflowError:
                yield Fault(place=f"line {number}", reason="a number is too large")
            except ValueError as fault:  # an integer of thousands of digits
                yield Fault(place=f"line {number}", reason=f"no JSON: {str(fault)[:100]}")
    except ContentError as fault:
        yield Fault(place=f"after line {number}", reason=str(fault))


def write(cases: Iterable[Case]) -> Iterator[str]:
    """A line of JSON for each case, with its line end."""
    for case in cases:
        yield canonical_json(to_record(case)) + "\n"


FORMAT = Format(
    name="cases",
    title="case JSONL (docs/formats.md)",
    sniff=sniff,
    read=read,
)
