"""Files of layer statistics: a CSV table, a JSON document, or a safetensors file.

A table or document names layers and some of the statistics, under the names people use for them. A
safetensors file holds weights, from which only the error of rounding them is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

from ingest.files.content import Content, ContentError
from ingest.files.csv_rows import csv_rows
from ingest.files.documents import load_json
from ingest.layers.layer import STATISTICS, Layer
from ingest.layers.safetensors import read_weight_errors
from kg.errors import CaseFormatError, Fault

_NAMES = ("layer", "name", "module", "parameter", "op_name", "operator", "tensor")
_ALIASES = {alias: name for name, more in STATISTICS.items() for alias in (name, *more)}
_SIGNED = frozenset({"loss_increase", "hessian_trace", "sqnr_db", "cosine"})
"""Statistics that may be negative: a loss may fall, an estimated trace of an indefinite Hessian too."""
_MISSING = frozenset({"", "nan", "none", "null", "n/a", "-"})


def read_layers(path: Path) -> list[Layer]:
    """The layers of a file, in its order.

    Raises:
        CaseFormatError: It names no layer or no statistic, or has impossible values; all its faults at once.
        OSError: It cannot be read.
    """
    if path.suffix == ".safetensors":
        return read_weight_errors(path)
    faults: list[Fault] = []
    with Content(path) as content:
        if path.name.removesuffix(".gz").endswith(".json"):
            try:
                rows: list[tuple[str, object]] = list(_document(load_json(content)))
            except ContentError as fault:
                raise CaseFormatError(str(path), [Fault(place="", reason=str(fault))]) from fault
        else:
            rows = list(csv_rows(content))
    layers = list(_layers(rows, faults))
    if not faults and not layers:
        faults.append(Fault(place="", reason="no layer in it"))
    if layers and not any(layer.values.keys() - {"parameters"} for layer in layers):
        faults.append(Fault(place="", reason=f"no statistic in it; known: {', '.join(STATISTICS)}"))
    if faults:
        raise CaseFormatError(str(path), faults, hint="what a file may say: docs/sensitivity.md")
    return layers


def _document(content: object) -> Iterator[tuple[str, dict[str, object] | Fault]]:
    """Rows of a JSON document: a list of layers, or layers by name, perhaps under ``layers``.

    Raises:
        ContentError: It is neither.
    """
    if isinstance(content, dict) and isinstance(content.get("layers"), dict | list):
        content = content["layers"]
    if isinstance(content, list):
        for number, row in enumerate(content, 1):
            place = f"layer {number}"
            yield place, row if isinstance(row, dict) else Fault(place=place, reason="no names and values")
    elif isinstance(content, dict):
        for name, row in content.items():
            values = row if isinstance(row, dict) else {"gradient_norm": row}
            yield name[:60], {"layer": name, **values}
    else:
        raise ContentError("expected layers: a list, or statistics by name of layer")


def _layers(rows: Iterable[tuple[str, object]], faults: list[Fault]) -> Iterator[Layer]:
    seen: set[str] = set()
    for place, row in rows:
        if isinstance(row, Fault):
            faults.append(row)
            continue
        assert isinstance(row, dict)  # noqa: S101  rows are mappings or faults
        cells = {str(key).strip().lower().replace(" ", "_"): item for key, item in row.items()}
        name = next((str(cells[key]).strip() for key in _NAMES if cells.get(key)), "")
        if not name:
            faults.append(Fault(place=place, reason=f"names no layer: a column {', '.join(_NAMES[:3])}"))
            continue
        if name in seen:
            faults.append(Fault(place=place, reason=f"layer {name[:60]!r} is there twice"))
            continue
        seen.add(name)
        values: dict[str, float] = {}
        for key, item in cells.items():
            statistic = _ALIASES.get(key)
            if statistic is None or item is None or str(item).strip().lower() in _MISSING:
                continue
            try:
                if statistic in values:
                    raise ValueError(f"{statistic} is there under two names")  # noqa: TRY301  one way to a fault
                values[statistic] = _number(statistic, key, item)
            except ValueError as fault:
                faults.append(Fault(place=place, reason=str(fault)))
        yield Layer(name=name, values=values)


def _number(statistic: str, key: str, item: object) -> float:
    try:
        value = math.nan if isinstance(item, bool) else float(item)  # type: ignore[arg-type]  # refused below
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{key}: {str(item)[:40]!r} is no finite number")
    if value < 0 and statistic not in _SIGNED:
        raise ValueError(f"{key}: {value:g} is below zero")
    if statistic == "cosine" and abs(value) > 1:
        raise ValueError(f"{key}: {value:g} is no cosine")
    return value
