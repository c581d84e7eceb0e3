"""Cases as rows of one table, with a column for each field of the record (docs/formats.md).

A column is called by the path of its field: ``task.op``, ``task.shape.M``, ``config.block_size_x``. An empty
cell is no value; a cell that is not a simple word is JSON, so ``16`` is a number, ``"16"`` a text and
``null`` a value. An object with a name that no header can hold stays whole, in one cell: ``config``.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from ingest.door.writing import to_record
from kg.nouns.entities import Case
from kg.nouns.values import canonical_json

SECTIONS = ("task.shape", "task.traits", "hardware.traits", "config", "software", "task", "hardware")
"""Objects that become columns by name, those inside others first."""
_OBJECTS = ("outcome", "source", "baseline")
_ORDER = ("task", "hardware", "config", "outcome", "kind", "strategy", "bottleneck", "baseline", "software")
_FORMULA = "=+-@＝＋－＠"
"""With these a spreadsheet takes a cell for a formula, which may run programs (CWE-1236); such a text is
written in quotes, as JSON."""
NEEDED = ("task.op", "outcome.metric", "outcome.status")
"""Columns by which such a table is known."""


def row_of(case: Case) -> dict[str, object]:
    """The fields of a case by column, as JSON values; empty fields are left out."""
    row: dict[str, object] = {}
    for name, content in to_record(case).items():
        _flatten(name, content, row)
    return row


def record_of(row: Mapping[str, object]) -> dict[str, object]:
    """The record that a row stands for.

    Raises:
        ValueError: A column is none of a record's.
    """
    found: dict[str, Any] = {"config": {}}
    for column, value in row.items():
        for section in (*SECTIONS, *_OBJECTS):
            if column.startswith(f"{section}."):
                place = found
                for part in section.split("."):
                    place = place.setdefault(part, {})
                place[column[len(section) + 1 :]] = value
                break
        else:
            if "." in column:
                raise ValueError(f"{column[:60]}: no field of a case")
            found[column] = value
    return found


class CaseRows:
    """Cases as rows whose columns are known: they wait in a temporary file until the last one is seen.

    Attributes:
        columns: All columns in a fixed order, with the types that their cells have.
    """

    def __init__(self, cases: Iterable[Case]) -> None:
        self._file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  closed by __exit__
        found: dict[str, set[type]] = {}
        for case in cases:
            row = row_of(case)
            for name, value in row.items():
                found.setdefault(name, set()).add(type(value))
            self._file.write(canonical_json(row) + "\n")
        self.columns = dict(sorted(found.items(), key=lambda item: (_place(item[0]), item[0])))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[dict[str, object]]:
        self._file.seek(0)
        return map(json.loads, self._file)


def cell(value: object) -> str:
    """A value as the text of a cell."""
    if (
        isinstance(value, str)
        and value
        and value == value.strip()
        and value.isprintable()
        and value[0] not in _FORMULA
        and not _is_json(value)
    ):
        return value
    return canonical_json(value)


def value_of(text: str) -> object:
    """The value of a cell that is not empty."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def _flatten(name: str, content: object, row: dict[str, object]) -> None:
    if (
        isinstance(content, dict)
        and name in {*SECTIONS, *_OBJECTS}
        and all(key.isprintable() and key == key.rstrip() for key in content)
    ):
        for key, item in content.items():
            _flatten(f"{name}.{key}", item, row)
    elif content is not None or name.startswith("config."):
        row[name] = content


def _place(column: str) -> int:
    section = column.partition(".")[0]
    return _ORDER.index(section) if section in _ORDER else len(_ORDER)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
