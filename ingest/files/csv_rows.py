"""Tables as CSV: a header, then a row a line. Each line stands for itself, so a bad one spoils no other.

Where the header is parted by semicolons or tabs, so are the rows; with semicolons a comma is a decimal point,
as spreadsheets of half of the world write them.
"""

import csv
import re
from collections.abc import Iterator

from ingest.files.content import MAXIMUM_LINE, Content, ContentError
from kg.errors import Fault

_COMMA = re.compile(r"[-+]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+")
"""A number with a decimal comma, perhaps with points between its thousands."""


def csv_rows(content: Content) -> Iterator[tuple[str, dict[str, str] | Fault]]:
    """Place and cells by column name of each row; a :class:`Fault` stands for a row that is none.

    The first line that is not blank is the header. Cells are stripped of white space around them.
    """
    number, delimiter = 0, ","
    header: list[str] | None = None
    try:
        for number, line in content.lines():
            place = f"line {number}"
            try:
                if header is None:
                    delimiter = delimiter_of("" if line is None else line.decode(errors="replace"))
                cells = _cells(line, delimiter)
            except ContentError as fault:
                yield place, Fault(place=place, reason=str(fault))
                if header is None:
                    return
                continue
            if not any(cells):
                continue
            if header is None:
                header = cells
                if len(set(header)) < len(header):
                    twice = next(name for name in header if header.count(name) > 1)
                    yield place, Fault(place=place, reason=f"column {twice[:40]!r} is there twice")
                    return
            elif len(cells) != len(header):
                reason = f"{len(cells)} cells, where the header has {len(header)}"
                yield place, Fault(place=place, reason=reason)
            else:
                yield place, dict(zip(header, cells, strict=True))
    except ContentError as fault:
        yield "", Fault(place=f"after line {number}", reason=str(fault))


def header_of(text: str) -> list[str]:
    """The column names in the head of a file; empty if its first line is none of CSV."""
    for line in text.splitlines():
        if line.strip():
            try:
                return [
                    cell.strip()
                    for cell in next(csv.reader([line], delimiter=delimiter_of(line), strict=True), [])
                ]
            except csv.Error:
                return []
    return []


def delimiter_of(header: str) -> str:
    """The delimiter of a header: a comma unless it has none, and semicolons or tabs."""
    return next((mark for mark in ",;\t" if mark in header), ",")


def _cells(line: bytes | None, delimiter: str) -> list[str]:
    if line is None:
        raise ContentError(f"longer than {MAXIMUM_LINE >> 20} MiB")
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise ContentError(f"no UTF-8 at byte {fault.start + 1}") from fault
    if not text.strip():
        return []
    try:
        reader = csv.reader([text.rstrip("\r")], delimiter=delimiter, strict=True)
        cells = [cell.strip() for cell in next(reader, [])]
    except csv.Error as fault:
        raise ContentError(f"no CSV: {fault}") from fault
    if delimiter != ";":
        return cells
    return [
        cell.replace(".", "").replace(",", ".") if _COMMA.fullmatch(cell) is not None else cell
        for cell in cells
    ]
