"""Memory timelines of PyTorch: what each sort of tensor held over time.

``torch.profiler`` writes them with ``export_memory_timeline`` to ``*.raw.json.gz``: rows of time, action,
change in bytes and category. What the allocator had reserved is not in them.

Source:
    PyTorch, ``torch/profiler/_memory_profiler.py``: form of the rows and order of the categories.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from ingest.files.content import Content, ContentError
from ingest.files.json_stream import JsonStream
from ingest.profiles.memory_snapshots import DeviceMemory, LiveBytes
from ingest.profiles.tables.memory_tables import Point, memory_use

CATEGORIES = (
    *("parameters", "optimizer", "input data", "temporary", "activations", "gradients", "autograd", "other"),
)
_BYTES_PER_MB = float(1 << 20)
_ROWS = re.compile(r"\s*\[\s*\[\s*-?\d+\s*,\s*\d\s*,\s*-?\d+\s*,\s*\d\s*\]")
LARGEST = 1 << 60
"""Bytes that a change may have; more is none."""


def is_timeline(head: str) -> bool:
    """True if a JSON file that begins like this is a memory timeline."""
    return _ROWS.match(head) is not None


def read_timeline(path: Path, file: str, on_fault: Callable[[str], None]) -> list[DeviceMemory]:
    """The memory of the device; of a file that breaks off, up to there."""
    live = LiveBytes()
    held = given = 0

    def points() -> Iterator[Point]:
        nonlocal held, given
        last = 0
        for at, change, category in _rows(path, on_fault):
            last = max(last, at)
            held += change
            given += change > 0
            live.add(category, change)
            yield "PYTORCH", last, held / _BYTES_PER_MB, held / _BYTES_PER_MB

    use = memory_use(points(), file, None)
    if use is None or use.peak_allocated_mb <= 0:
        return []
    on_fault(f"{path.name}: tells what tensors held; what the allocator had reserved is not in it")
    use = replace(use, peak_reserved_mb=math.nan, returned_mb=0.0)
    return [DeviceMemory(device=0, use=use, modules=tuple(live.modules(file)))]


def _rows(path: Path, on_fault: Callable[[str], None]) -> Iterator[tuple[int, int, str]]:
    """Time in nanoseconds (0 for what was there before), change in bytes, category."""
    odd = 0
    try:
        with Content(path) as content:
            stream = JsonStream(content)
            for _ in stream.items():
                row = stream.value()
                if not isinstance(row, list) or len(row) != 4 or not all(type(cell) is int for cell in row):
                    odd += 1
                    continue
                at, _action, change, category = row
                if not 0 <= category < len(CATEGORIES) or abs(change) > LARGEST:
                    odd += 1
                    continue
                yield max(0, at), change, CATEGORIES[category]
    except ContentError as fault:
        on_fault(f"{path.name}: {fault}; read up to there")
    if odd:
        on_fault(f"{path.name}: {odd} rows are no changes of memory, and are left out")
