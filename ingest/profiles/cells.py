"""Cells of profiler tables: numbers that may be missing, timestamps that outgrow a float, broken rows."""

import codecs
import csv
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

LONGEST_CELL = 1 << 24
"""Characters of a cell: call stacks are long, but no table of a profiler needs more."""
LARGEST = 1e24
"""No counter, size or time of a profiler is larger; what is was damaged, and would overflow sums."""
LONGEST_US = 1e12
"""Microseconds that anything profiled may last: eleven days."""
_EARLIEST_US, _LATEST_US = -1e12, 9.1e15
"""Between these a timestamp and all that may be added to it fit 64 bits of nanoseconds."""
_SAMPLE = 1 << 20
"""Bytes from which the encoding of a table is detected."""
_LONGEST_HEADER = 1 << 17


def number(text: object) -> float:
    """A number, or nan where none was collected."""
    try:
        value = float(text)  # type: ignore[arg-type]  # most cells are numbers; what is none is caught
    except (TypeError, ValueError, OverflowError):
        value = _marked(text)
    return value if -LARGEST <= value <= LARGEST else math.nan  # neither nan nor infinity is


def _marked(text: object) -> float:
    """A number with a per cent sign behind it; nan if the text is none."""
    if not isinstance(text, str) or not text.strip().endswith("%"):
        return math.nan
    try:
        return float(text.strip().rstrip("%"))
    except ValueError:
        return math.nan


def optional_number(text: object) -> float | None:
    """A number, or None where none was collected."""
    value = number(text)
    return None if math.isnan(value) else value


def optional_size(text: object) -> float | None:
    """A number that is not negative, or None where none was collected, as -1 says too."""
    value = number(text)
    return value if value >= 0 else None


def duration_us(text: object) -> float:
    """A duration, microseconds; nan where none was collected or the number cannot be one."""
    value = number(text)
    return value if 0 <= value <= LONGEST_US else math.nan


def nanoseconds(text: object) -> int | None:
    """A timestamp in microseconds as whole nanoseconds; None where none was collected.

    A float has 53 bits, and microseconds since 1970 with three decimals need 61: the text is cut at the
    point instead.
    """
    if isinstance(text, float):
        return round(text * 1e3) if _EARLIEST_US < text < _LATEST_US else None
    if isinstance(text, int):
        return text * 1000 if _EARLIEST_US < text < _LATEST_US else None
    if not isinstance(text, str):
        return None
    plain = text.strip()
    integral, _, rest = plain.partition(".")
    sign = -1 if integral.startswith("-") else 1
    digits = integral.lstrip("+-")
    if not (digits.isascii() and digits.isdigit()) or (rest and not (rest.isascii() and rest.isdigit())):
        value = number(plain)
        return round(value * 1e3) if _EARLIEST_US < value < _LATEST_US else None
    if len(digits) > 16 or not _EARLIEST_US < sign * int(digits) < _LATEST_US:
        return None
    return sign * (int(digits) * 1000 + round(int((rest + "000000")[:6]) / 1000))


def count(text: object) -> int:
    """A whole number, 0 where there is none."""
    value = number(text)
    return 0 if math.isnan(value) else round(value)


def read_table(
    path: Path, on_fault: Callable[[str], None], *, repeated: bool = False
) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows of a CSV file by column name, with the line on which each ends.

    A byte order mark, blanks and tabs around cells and an empty last column are passed over. A row that has
    another number of cells than the header is reported to ``on_fault`` and left out; of a file that breaks
    off everything before the break is given. Of a name that comes twice the first column counts; with
    ``repeated`` the others are there as ``NAME#2`` and so on.
    """
    header: list[str] | None = None
    bad = first_bad = 0
    for line, cells in read_lines(path, on_fault):
        if header is None:
            header = _header(cells, repeated=repeated)
        elif _fits(cells, header):
            yield line, {k: v.strip() for k, v in zip(header, cells, strict=False) if k}
        else:
            bad += 1
            first_bad = first_bad or line
    if header is None:
        on_fault(f"{path.name}: empty")
    if bad:
        on_fault(f"{path.name}: {bad} rows are cut or damaged and left out, the first at line {first_bad}")


def read_lines(path: Path, on_fault: Callable[[str], None]) -> Iterator[tuple[int, list[str]]]:
    """Cells of each row that is not blank, the header's among them, with the line on which it ends."""
    csv.field_size_limit(min(LONGEST_CELL, sys.maxsize))
    line = 0
    try:
        with open_table(path) as text:
            reader = csv.reader(line.replace("\0", "") for line in text)
            for cells in reader:
                line = reader.line_num
                if any(cell.strip() for cell in cells):
                    yield line, cells
    except csv.Error as fault:
        on_fault(f"{path.name}: no CSV beyond line {line} ({fault})")


def open_table(path: Path) -> TextIO:
    """A table as text: UTF-8, else UTF-16 where its mark says so, else GB 18030 as on Chinese systems."""
    with path.open("rb") as file:
        sample = file.read(_SAMPLE)
    encoding = "utf-8-sig"
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif not _is_text(sample, "utf-8") and _is_text(sample, "gb18030"):
        encoding = "gb18030"
    return path.open(encoding=encoding, errors="replace", newline="")


def _is_text(sample: bytes, encoding: str) -> bool:
    """True if bytes, cut off anywhere, are text of an encoding."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _fits(cells: list[str], header: list[str]) -> bool:
    """True if a row has a cell for each column; an empty one more or less at the end does not count."""
    if len(cells) < len(header):
        return len(cells) == len(header) - 1 and not header[-1]
    return not any(cell.strip() for cell in cells[len(header) :])


def _header(cells: list[str], *, repeated: bool) -> list[str]:
    """Column names; empty for a column that is passed over."""
    seen: dict[str, int] = {}
    header = []
    for cell in cells:
        name = cell.strip()
        seen[name] = times = seen.get(name, 0) + 1
        header.append(name if times == 1 else f"{name}#{times}" if repeated and name else "")
    return header


def header_of(path: Path) -> frozenset[str]:
    """Column names of a CSV file; empty if it has none."""
    try:
        with open_table(path) as text:
            while line := text.readline(_LONGEST_HEADER):
                if line.strip():
                    plain = line.replace("\0", "")
                    return frozenset(cell.strip() for cell in next(csv.reader([plain]), []))
    except (OSError, csv.Error, UnicodeError):
        return frozenset()
    return frozenset()
