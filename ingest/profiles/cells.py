"""Cells of profiler tables: numbers that may be missing, timestamps that outgrow a float, broken rows."""

from __future__ import annotations

import csv
import math
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_BLANK = frozenset({"", "N/A", "NA", "NAN", "NULL", "NONE", "-", "INF", "-INF"})
LONGEST_CELL = 1 << 24
"""Characters of a cell: call stacks are long, but no table of a profiler needs more."""


def number(text: object) -> float:
    """A number, or nan where none was collected."""
    if isinstance(text, int | float):
        return float(text) if math.isfinite(text) else math.nan
    if not isinstance(text, str):
        return math.nan
    plain = text.strip()
    if plain.upper() in _BLANK:
        return math.nan
    try:
        value = float(plain.rstrip("%"))
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def nanoseconds(text: object) -> int | None:
    """A timestamp in microseconds as whole nanoseconds; None where none was collected.

    A float has 53 bits, and microseconds since 1970 with three decimals need 61: the text is cut at the
    point instead.
    """
    if isinstance(text, float):
        return round(text * 1e3) if math.isfinite(text) and abs(text) < 9e15 else None
    if isinstance(text, int):
        return text * 1000 if abs(text) < 9 * 10**15 else None
    if not isinstance(text, str):
        return None
    plain = text.strip()
    whole, _, rest = plain.partition(".")
    sign = -1 if whole.startswith("-") else 1
    digits = whole.lstrip("+-")
    if not (digits.isascii() and digits.isdigit()) or (rest and not (rest.isascii() and rest.isdigit())):
        value = number(plain)
        return None if math.isnan(value) or abs(value) >= 9e15 else round(value * 1e3)
    if len(digits) > 16:
        return None
    return sign * (int(digits) * 1000 + round(int((rest + "000000")[:6]) / 1000))


def count(text: object) -> int:
    """A whole number, 0 where there is none."""
    value = number(text)
    return 0 if math.isnan(value) else round(value)


def table(path: Path, on_fault: Callable[[str], None]) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows of a CSV file by column name, with the line on which each ends.

    A byte order mark, blanks and tabs around cells and an empty last column are passed over. A row that has
    another number of cells than the header is told to ``on_fault`` and left out; of a file that breaks off
    everything before the break is given.
    """
    csv.field_size_limit(min(LONGEST_CELL, sys.maxsize))
    header: list[str] | None = None
    bad = first_bad = line = 0
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            reader = csv.reader(line.replace("\0", "") for line in lines)
            for cells in reader:
                line = reader.line_num
                if not any(cell.strip() for cell in cells):
                    continue
                if header is None:
                    header = _header(cells)
                elif _fits(cells, header):
                    yield line, {k: v.strip() for k, v in zip(header, cells, strict=False) if k}
                else:
                    bad += 1
                    first_bad = first_bad or line
    except csv.Error as fault:
        on_fault(f"{path.name}: no CSV beyond line {line} ({fault})")
    if header is None:
        on_fault(f"{path.name}: empty")
    if bad:
        on_fault(f"{path.name}: {bad} rows are cut or damaged and left out, the first at line {first_bad}")


def _fits(cells: list[str], header: list[str]) -> bool:
    """Whether a row has a cell for each column; an empty one more or less at the end does not count."""
    if len(cells) < len(header):
        return len(cells) == len(header) - 1 and not header[-1]
    return not any(cell.strip() for cell in cells[len(header) :])


def _header(cells: list[str]) -> list[str]:
    """Column names; a name that comes twice counts once, the first time."""
    seen: set[str] = set()
    header = []
    for cell in cells:
        name = cell.strip()
        header.append("" if name in seen else name)
        seen.add(name)
    return header


def header_of(path: Path) -> frozenset[str]:
    """Column names of a CSV file; empty if it has none."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            for line in lines:
                if line.strip():
                    return frozenset(cell.strip() for cell in next(csv.reader([line]), []))
    except (OSError, csv.Error):
        return frozenset()
    return frozenset()
