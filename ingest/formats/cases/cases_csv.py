"""Cases as one CSV table with the columns of :mod:`ingest.door.flat_cases`."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from ingest.door.flat_cases import NEEDED, CaseRows, cell, record_of, value_of
from ingest.door.records import RecordError
from ingest.files.csv_rows import csv_rows, header_of
from ingest.formats.format import Format
from kg.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.door.records import Records
    from ingest.files.content import Content
    from ingest.files.sniffing import Head
    from kg.nouns.entities import Case


def sniff(head: Head) -> bool:
    """True if its header names fields of a case."""
    return not head.flaw and "task.op" in head.text and set(NEEDED) <= set(header_of(head.text))


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """The case of each row."""
    for place, row in csv_rows(content):
        if isinstance(row, Fault):
            yield row
            continue
        try:
            yield records.case(record_of({name: value_of(text) for name, text in row.items() if text}))
        except RecordError as fault:
            yield Fault(place=place, reason=str(fault))
        except ValueError as fault:
            yield Fault(place=place, reason=str(fault)[:200])


def write(cases: Iterable[Case]) -> Iterator[str]:
    """Lines of the table."""
    with CaseRows(cases) as rows:
        yield _line(list(rows.columns))
        for row in rows:
            yield _line([cell(row[name]) if name in row else "" for name in rows.columns])


def _line(cells: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


FORMAT = Format(
    name="cases-csv",
    title="cases as CSV (task.op, config.., outcome..)",
    sniff=sniff,
    read=read,
)
