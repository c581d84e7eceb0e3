"""Weights in a safetensors file: header of JSON, then the numbers.

Without the library, whose numpy reader takes no bfloat16; a test reads what it wrote.

Layout: eight bytes with the header's length, little endian; the header, by tensor ``dtype``, ``shape`` and
``data_offsets`` from the header's end; the data. Source: the format's description in the README of
huggingface/safetensors.

``weight_error``: squared Euclidean norm of what rounding to 8 bits changes, symmetric, one scale a row of
outputs (the first axis), as post-training quantisation of weights does (Nagel et al., A White Paper on Neural
Network Quantization, 2021, section 2.3).
"""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ingest.layers.layer import Layer
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
