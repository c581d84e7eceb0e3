"""Kernels of a device as columns: a profile of a million kernels fits in memory.

A number that was not collected is nan, never zero; a text that was not collected is empty.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]

UNKNOWN_NS = np.iinfo(np.int64).min
"""Stands for a start that was not collected."""

TEXTS = (
    *("name", "kind", "core", "stream", "step", "state", "device"),
    *("input_shapes", "input_types", "input_formats", "output_shapes", "output_types", "output_formats"),
)
NUMBERS = ("duration_us", "wait_us", "blocks", "queued_us", "call_us")
"""The last two: from the begin of the call that launched a kernel to its start, and what that call took."""

COMMUNICATION_CORES = frozenset({"COMMUNICATION", "HCCL"})
COPY_CORE = "MEMCPY"
"""Core of a copy between host and device, or within a device, by the copy engine."""
COPY_CORES = frozenset({COPY_CORE})
_COLLECTIVES = ("hcom_", "hccl_", "nccl", "rccl", "c10d::", "lccl", "ncclkernel", "ncclDevKernel")


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of texts that repeat.

    Attributes:
        codes: Index into ``labels`` of each row, shape (n,).
        labels: The distinct texts.
    """

    codes: Codes
    labels: tuple[str, ...]

    def __getitem__(self, row: int) -> str:
        return self.labels[int(self.codes[row])]

    def where(self, wanted: Iterable[bool]) -> Mask:
        """Rows whose label is wanted; ``wanted`` has one flag for each label."""
        return np.fromiter(wanted, dtype=np.bool_, count=len(self.labels))[self.codes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """Kernels of one rank in the order of the file.

    Attributes:
        file: File that they were read from.
        rows: Line of each in the file (its number in a database), shape (n,).
        start_ns: Nanoseconds since an epoch; ``UNKNOWN_NS`` where not collected.
        texts: Columns of text by name, of those in ``TEXTS``.
        numbers: Columns of numbers by name, of those in ``NUMBERS``; nan where not collected.
        pipes: Counters of the cores, by the profiler's column names, such as
            ``aic_mac_ratio`` and ``aicore_time(us)``.
    """

    file: str
    rows: Integers
    start_ns: Integers
    texts: Mapping[str, TextColumn]
    numbers: Mapping[str, Floats]
    pipes: Mapping[str, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def duration_us(self) -> Floats:
        """Duration of each kernel, microseconds."""
        return self.numbers["duration_us"]

    @property
    def wait_us(self) -> Floats:
        """Time for which each kernel waited before it ran, microseconds."""
        return self.numbers["wait_us"]

    @property
    def end_ns(self) -> Integers:
        """End of each kernel, nanoseconds."""
        return self.start_ns + np.rint(np.nan_to_num(self.duration_us) * 1e3).astype(np.int64)

    def text(self, column: str, row: int) -> str:
        """The text of a column in a row."""
        return self.texts[column][row]

    def pipe(self, name: str) -> Floats:
        """A counter of each kernel; all nan where it was not collected."""
        found = self.pipes.get(name)
        return np.broadcast_to(np.float64(np.nan), len(self)) if found is None else found

    @property
    def label(self) -> TextColumn:
        """The label that kernels are grouped by: type, or name without numbers where there is no type."""
        kind, name = self.texts["kind"], self.texts["name"]
        if all(kind.labels[int(code)] for code in np.unique(kind.codes)):
            return kind
        known: dict[str, int] = {"": 0}
        by_kind, by_name = (
            np.array([known.setdefault(text, len(known)) for text in texts], np.int32)
            for texts in (kind.labels, [stem(label) for label in name.labels])
        )
        codes = np.where(by_kind[kind.codes] > 0, by_kind[kind.codes], by_name[name.codes])
        is_used = np.bincount(codes, minlength=len(known)) > 0
        is_used[0] = True  # as in every column
        place = (np.cumsum(is_used) - 1).astype(np.int32)
        labels = tuple(text for text, used in zip(known, is_used, strict=True) if used)
        return TextColumn(place[codes], labels)

    @property
    def is_communication(self) -> Mask:
        """Kernels that are collectives or transfers between devices."""
        core, name = self.texts["core"], self.texts["name"]
        by_core = core.where(label in COMMUNICATION_CORES for label in core.labels)
        by_name = name.where(is_collective(label) for label in name.labels)
        return by_core | by_name

    @property
    def is_copy(self) -> Mask:
        """Kernels that are copies by the copy engine."""
        core = self.texts["core"]
        return core.where(label in COPY_CORES for label in core.labels)

    @property
    def is_compute(self) -> Mask:
        """Kernels that compute: neither communication nor a copy."""
        return ~(self.is_communication | self.is_copy)

    @property
    def is_aicpu(self) -> Mask:
        """Kernels that ran on the control processor."""
        core = self.texts["core"]
        return core.where(label.upper().replace(" ", "_") in {"AI_CPU", "AICPU"} for label in core.labels)

    def where(self, mask: Mask) -> Kernels:
        """The kernels that ``mask`` marks."""
        if mask.all():
            return self
        return Kernels(
            file=self.file,
            rows=self.rows[mask],
            start_ns=self.start_ns[mask],
            texts={
                name: TextColumn(_marked(column.codes, mask), column.labels)
                for name, column in self.texts.items()
            },
            numbers={name: _marked(column, mask) for name, column in self.numbers.items()},
            pipes={name: _marked(column, mask) for name, column in self.pipes.items()},
        )

    def with_texts(self, **texts: TextColumn) -> Kernels:
        """The same kernels with other texts."""
        return replace(self, texts={**self.texts, **texts})

    def with_values(self, *, start_ns: Integers | None = None, **numbers: Floats) -> Kernels:
        """The same kernels with other starts or other numbers."""
        return Kernels(
            file=self.file,
            rows=self.rows,
            start_ns=self.start_ns if start_ns is None else start_ns,
            texts=self.texts,
            numbers={**self.numbers, **numbers},
            pipes=self.pipes,
        )


def concatenate(parts: Sequence[Kernels]) -> Kernels:
    """Kernels of several files, one after the other; the first file names them, rows count in their own."""
    names = {name for part in parts for name in part.pipes}
    return Kernels(
        file=parts[0].file,
        rows=np.concatenate([part.rows for part in parts]),
        start_ns=np.concatenate([part.start_ns for part in parts]),
        texts={name: _joined([part.texts[name] for part in parts]) for name in TEXTS},
        numbers={name: np.concatenate([part.numbers[name] for part in parts]) for name in NUMBERS},
        pipes={name: np.concatenate([part.pipe(name) for part in parts]) for name in names},
    )


def _joined(columns: Sequence[TextColumn]) -> TextColumn:
    known: dict[str, int] = {}
    codes = []
    for column in columns:
        own = np.array([known.setdefault(label, len(known)) for label in column.labels], dtype=np.int32)
        codes.append(own[column.codes])
    return TextColumn(np.concatenate(codes), tuple(known))


def is_collective(name: str) -> bool:
    """True if a kernel of this name moves data between devices."""
    low = name.lower()
    return low.startswith(_COLLECTIVES) or "nccldevkernel" in low


def stem(name: str) -> str:
    """A kernel's name without the numbers of its instances."""
    pieces = [piece for piece in name.split("_") if piece and not piece.isdigit()]
    return "_".join(pieces).rstrip("0123456789") or name


class KernelBuilder:
    """A builder of :class:`Kernels` that takes kernels one by one."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._rows = array("q")
        self._starts = array("q")
        self._texts = {name: _Column() for name in TEXTS}
        self._numbers: dict[str, array[float]] = {}
        self._pipes: dict[str, array[float]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add(
        self,
        row: int,
        start_ns: int | None,
        *,
        duration_us: float,
        wait_us: float = float("nan"),
        blocks: float = float("nan"),
        pipes: Mapping[str, float] | None = None,
        **texts: str,
    ) -> None:
        """Take one kernel; ``texts`` are of the names in ``TEXTS``, empty where left out."""
        before = len(self._rows)
        self._rows.append(row)
        self._starts.append(UNKNOWN_NS if start_ns is None else start_ns)
        for name, value in (("duration_us", duration_us), ("wait_us", wait_us), ("blocks", blocks)):
            column = self._numbers.get(name)
            if column is not None:
                column.append(value)
            elif not math.isnan(value):  # a column takes memory only from its first number on
                self._numbers[name] = array("d", [float("nan")]) * before + array("d", [value])
        for name, text in texts.items():
            self._texts[name].add(text, before)
        if pipes or self._pipes:
            pipes = pipes or {}
            for name in pipes:
                if name not in self._pipes:
                    self._pipes[name] = array("d", [float("nan")]) * before
            for name, values in self._pipes.items():
                values.append(pipes.get(name, float("nan")))

    def build(self) -> Kernels:
        """The kernels taken so far."""
        count = len(self)
        unknown = np.broadcast_to(np.float64(np.nan), count)
        numbers = {name: np.frombuffer(values, np.float64) for name, values in self._numbers.items()}
        return Kernels(
            file=self._file,
            rows=np.frombuffer(self._rows, np.int64) if count else np.zeros(0, np.int64),
            start_ns=np.frombuffer(self._starts, np.int64) if count else np.zeros(0, np.int64),
            texts={name: column.build(count) for name, column in self._texts.items()},
            numbers={name: numbers.get(name, unknown) for name in NUMBERS},
            pipes={name: np.frombuffer(values, np.float64) for name, values in self._pipes.items()},
        )


def _marked(column: NDArray[T], mask: Mask) -> NDArray[T]:
    """The marked rows of a column; one value for all rows stays one value."""
    if column.strides == (0,) and len(column):
        return np.broadcast_to(column[0], int(np.count_nonzero(mask)))
    return column[mask]


class _Column:
    """A column that takes memory only from the first row on that has a text in it."""

    def __init__(self) -> None:
        self._codes = array("i")
        self._known: dict[str, int] = {"": 0}

    def add(self, text: str, row: int) -> None:
        code = self._known.get(text)
        if code is None:
            code = self._known[text] = len(self._known)
        if len(self._codes) < row:
            self._codes.extend([0] * (row - len(self._codes)))
        self._codes.append(code)

    def build(self, count: int) -> TextColumn:
        if not self._codes:
            return TextColumn(np.broadcast_to(np.int32(0), count), tuple(self._known))
        self._codes.extend([0] * (count - len(self._codes)))
        return TextColumn(np.frombuffer(self._codes, np.int32), tuple(self._known))
