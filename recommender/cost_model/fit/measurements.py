"""Tables of measured operators: read, checked, repeats of one shape merged.

The files are those of ``tunegraph calibrate``: one CSV per kind with the columns of
``recommender.cost_model.operators.kinds.KINDS``, ``measured_us``, and optionally ``group`` and ``source``.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kg.atomic_files import read_text
from kg.errors import CaseFormatError, Fault
from recommender.cost_model.operators.collective import OPERATIONS
from recommender.cost_model.operators.kinds import KINDS, OperatorKind

if TYPE_CHECKING:
    from recommender.cost_model.facts.physics import Floats

Row = dict[str, str]
MOST_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class ShapeTable:
    """Measured shapes of one kind.

    Attributes:
        x: One row per distinct shape, shape (n, columns of the kind).
        measured_us: Geometric mean over its repeats, shape (n,).
        groups: Which shapes belong together, shape (n,).
        sources: Where the rows come from.
    """

    x: Floats
    measured_us: Floats
    groups: NDArray[np.str_]
    sources: tuple[str, ...]

    def select(self, rows: NDArray[np.bool_]) -> ShapeTable:
        """Some of the shapes."""
        return ShapeTable(self.x[rows], self.measured_us[rows], self.groups[rows], self.sources)

    def blocks(self) -> list[NDArray[np.intp]]:
        """Row numbers of each group."""
        _, place = np.unique(self.groups, return_inverse=True)
        return [np.flatnonzero(place == index) for index in range(int(place.max(initial=-1)) + 1)]


def read_rows(path: Path) -> list[Row]:
    """Rows of a CSV file with a header.

    Raises:
        InputError: It cannot be read.
        CaseFormatError: It is empty.
    """
    try:
        rows = [
            {key: value or "" for key, value in row.items() if key is not None}
            for row in csv.DictReader(StringIO(read_text(path, MOST_BYTES)))
        ]
    except csv.Error as fault:
        raise CaseFormatError(str(path), [Fault(place="", reason=f"no CSV: {fault}")]) from None
    if not rows:
        raise CaseFormatError(str(path), [Fault(place="", reason="no rows")])
    return rows


def kind_of(path: Path, rows: Sequence[Row]) -> OperatorKind | None:
    """The kind of a table: by its name, else by its operator column."""
    if path.stem in KINDS:
        return KINDS[path.stem]
    columns = set(rows[0])
    for kind in KINDS.values():
        wanted = set(kind.columns) - {"code"}
        if wanted <= columns and path.stem.startswith(kind.stem):
            return kind
    return None


def table(path: Path, kind: OperatorKind, rows: Sequence[Row], *, keep: str = "") -> ShapeTable:
    """The shapes of a file.

    Args:
        path: For messages.
        kind: Which columns to read.
        rows: As ``read_rows`` gives.
        keep: Only groups that start with this.

    Raises:
        CaseFormatError: Columns are missing, or values that are no positive numbers; all of them.
    """
    wanted = [name for name in kind.columns if name != "code"]
    missing = [name for name in (*wanted, "measured_us") if name not in rows[0]]
    if missing:
        raise CaseFormatError(str(path), [Fault(place="line 1", reason=f"no column {missing[0]}")])
    faults: list[Fault] = []
    held: dict[tuple[float, ...], tuple[list[float], str]] = {}
    for line, row in enumerate(rows, start=2):
        group = row.get("group") or ",".join(row[name] for name in wanted[1:])
        if not group.startswith(keep):
            continue
        try:
            shape = tuple(_numbers(row, kind))
            time = _positive(row["measured_us"], "measured_us")
        except ValueError as trouble:
            faults.append(Fault(place=f"line {line}", reason=str(trouble)))
            continue
        held.setdefault(shape, ([], group))[0].append(time)
    if faults:
        raise CaseFormatError(str(path), faults)
    sources = tuple(sorted({row["source"] for row in rows if row.get("source")}))
    return ShapeTable(
        np.array(list(held), dtype=np.float64).reshape(len(held), len(kind.columns)),
        np.array([math.exp(np.mean(np.log(times))) for times, _ in held.values()]),
        np.array([group for _, group in held.values()], dtype=np.str_),
        sources,
    )


def _numbers(row: Row, kind: OperatorKind) -> Iterator[float]:
    for name in kind.columns:
        if name == "code":
            if row["op"] not in OPERATIONS:
                raise ValueError(f"no collective named {row['op']!r}")
            yield float(OPERATIONS[row["op"]])
        else:
            yield _positive(row[name], name)


def _positive(text: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}, not a number") from None
    if not math.isfinite(value) or value <= 0:
        raise ValueError(f"{name} is {text}, not positive")
    return value
