"""Files of layer statistics: a CSV table, a JSON document, or a safetensors file.

A table or document names layers and some of the statistics, under the names people use for them. A
safetensors file holds weights, from which only the error of rounding them is known.
"""

import json
import math
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ingest.files.content import Content, ContentError
from ingest.files.csv_rows import csv_rows
from ingest.files.documents import load_json
from ingest.layers.layer import STATISTICS, Layer
from kg.errors import CaseFormatError, Fault

LONGEST_HEADER_BYTES = 100_000_000
"""As the format's own reader has it."""
LEVELS_INT8 = 127
_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_ROWS_AT_ONCE = 1 << 22
"""Numbers that are held at a time."""


def read_weight_errors(path: Path) -> list[Layer]:
    """The matrices of a file with number of weights and the error of rounding them to 8 bits.

    Vectors (norms, biases) are not rounded in practice and are passed over.

    Raises:
        CaseFormatError: It is no safetensors file, is cut short, or has no matrix in floating point.
        OSError: It cannot be read.
    """
    layers, faults = [], []
    with path.open("rb") as stream:
        header, start = _header(stream, path)
        end = path.stat().st_size - start
        for name, described in header.items():
            if name == "__metadata__":
                continue
            try:
                kind, shape, first, last = _entry(described, end)
            except (ValueError, TypeError, KeyError) as fault:
                faults.append(Fault(place=name[:60], reason=str(fault) or "no dtype, shape and data_offsets"))
                continue
            if kind not in _BYTES or len(shape) < 2 or not math.prod(shape):
                continue
            if math.prod(shape) * _BYTES[kind] != last - first:
                faults.append(Fault(place=name[:60], reason="shape and data_offsets disagree"))
                continue
            error = _error(stream, start + first, kind, shape)
            if not math.isfinite(error):
                faults.append(Fault(place=name[:60], reason="has weights that are no finite numbers"))
                continue
            values = {"weight_error": error, "parameters": float(math.prod(shape))}
            layers.append(Layer(name=name.removesuffix(".weight"), values=values))
    if not faults and not layers:
        faults.append(Fault(place="", reason="no matrix of floating-point weights in it"))
    if faults:
        raise CaseFormatError(str(path), faults)
    return layers


def _header(stream: BinaryIO, path: Path) -> tuple[dict[str, object], int]:
    """The header, and where the data begin.

    Raises:
        CaseFormatError: There is none.
    """
    raw = stream.read(8)
    length = struct.unpack("<Q", raw)[0] if len(raw) == 8 else 0
    if not 2 <= length <= LONGEST_HEADER_BYTES:
        raise _no_file(path, "no safetensors file: its first eight bytes are no length of a header")
    content = stream.read(length)
    if len(content) < length:
        raise _no_file(path, "the header breaks off")
    try:
        header = json.loads(content)
    except (ValueError, RecursionError) as fault:
        raise _no_file(path, f"the header is no JSON: {fault}"[:200]) from fault
    if not isinstance(header, dict):
        raise _no_file(path, "the header is no object")
    return header, 8 + length


def _no_file(path: Path, reason: str) -> CaseFormatError:
    return CaseFormatError(str(path), [Fault(place="", reason=reason)])


def _entry(described: object, end: int) -> tuple[str, tuple[int, ...], int, int]:
    if not isinstance(described, dict):
        raise TypeError("no dtype, shape and data_offsets")
    shape = tuple(int(size) for size in described["shape"])
    first, last = (int(place) for place in described["data_offsets"])
    if not 0 <= first <= last <= end:
        raise ValueError("its data lie outside the file, which may be cut short")
    return str(described["dtype"]), shape, first, last


def _error(stream: BinaryIO, place: int, kind: str, shape: tuple[int, ...]) -> float:
    wide = math.prod(shape[1:])
    rows = max(_ROWS_AT_ONCE // wide, 1)
    stream.seek(place)
    total = 0.0
    for first in range(0, shape[0], rows):
        here = min(rows, shape[0] - first)
        part = np.frombuffer(stream.read(here * wide * _BYTES[kind]), dtype=_TYPES[kind])
        total += _rounding_error(_numbers(part, kind).reshape(here, wide))
    return total


def _numbers(raw: NDArray[np.generic], kind: str) -> NDArray[np.float64]:
    if kind == "BF16":  # the upper half of a float32
        raw = (raw.astype(np.uint32) << 16).view(np.float32)
    return raw.astype(np.float64)


def _rounding_error(weights: NDArray[np.float64]) -> float:
    """Squared norm of the change; weights of shape (outputs, inputs)."""
    scale = np.abs(weights).max(axis=1, keepdims=True) / LEVELS_INT8
    scale = np.where(scale > 0, scale, 1.0)
    return float(np.square(np.rint(weights / scale) * scale - weights).sum())


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
