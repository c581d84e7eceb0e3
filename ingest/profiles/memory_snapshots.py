"""Memory snapshots of PyTorch's allocator: what was held over time, and by which part of the program.

``torch.cuda.memory._dump_snapshot`` (``torch.npu`` writes the same) pickles lists, tables, numbers and texts.
Nothing else is accepted: a pickle that names a function or a class is refused before it is looked up, so
reading one runs no code of its writer. The same content as JSON is read too.

A snapshot holds the blocks at its end and, since recording began, each allocation and release with its stack.
What was allocated before is the difference of the two.

Source:
    PyTorch, "Understanding CUDA Memory Usage": the form of a snapshot and of its events.
"""

import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ingest.files.content import ContentError
from ingest.profiles.facts.details import ModuleMemory
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import MemoryUse
from ingest.profiles.tables.memory_tables import Point, memory_use

LARGEST_SNAPSHOT = 512 << 20
"""Bytes of a snapshot at most: as objects it takes some ten times as much memory."""
_BYTES_PER_MB = float(1 << 20)
BEFORE = "before the recording"
WITHOUT_STACK = "without a Python stack (backward pass)"
"""The backward pass runs on a thread of its own, which has no frames of Python."""
_GIVES, _TAKES = {"alloc"}, {"free_completed", "free"}
_RESERVES, _RETURNS = {"segment_alloc", "segment_map"}, {"segment_free", "segment_unmap"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceMemory:
    """The memory of one device in a snapshot.

    Attributes:
        device: Its number.
        use: Reserved and allocated memory over time.
        modules: Memory by part of the program, the largest at the peak first.
    """

    device: int
    use: MemoryUse
    modules: tuple[ModuleMemory, ...]


class _PlainUnpickler(pickle.Unpickler):
    """Reads plain values alone."""

    def find_class(self, module: str, name: str) -> object:
        """Refuse whatever is not a plain value."""
        raise ContentError(
            f"a pickle that asks for {module[:40]}.{name[:40]}: it is no snapshot, and not read"
        )


def is_snapshot_json(head: str) -> bool:
    """True if a JSON file that begins like this is a snapshot."""
    return '"segments"' in head and ('"device_traces"' in head or '"total_size"' in head)


def is_snapshot_pickle(path: Path) -> bool:
    """True if a file is a pickle that has the texts of a snapshot near its begin."""
    with path.open("rb") as file:
        head = file.read(1 << 12)
    return head[:1] == b"\x80" and b"segments" in head and b"total_size" in head


def read_snapshot(path: Path, file: str) -> list[DeviceMemory]:
    """The memory of each device that a snapshot has anything of.

    Raises:
        ContentError: It is too large, damaged, or holds more than plain values.
    """
    content = _content(path)
    segments, traces = _tables(content.get("segments")), content.get("device_traces")
    traces = [_tables(trace) for trace in traces] if isinstance(traces, list) else []
    numbers = {_whole(segment.get("device")) for segment in segments}
    numbers |= {number for number, trace in enumerate(traces) if trace}
    found = []
    for number in sorted(numbers):
        own = [segment for segment in segments if _whole(segment.get("device")) == number]
        device = _of_device(number, own, traces[number] if number < len(traces) else [], file)
        if device is not None:
            found.append(device)
    return found


def _content(path: Path) -> Mapping[str, object]:
    size = path.stat().st_size
    if size > LARGEST_SNAPSHOT:
        raise ContentError(f"{size >> 20} MiB: record fewer events (max_entries) to have it read")
    try:
        with path.open("rb") as file:
            content = json.load(file) if path.suffix == ".json" else _PlainUnpickler(file).load()
    except ContentError:
        raise
    except Exception as fault:  # a damaged pickle can raise nearly anything
        raise ContentError(
            f"no snapshot that can be read ({str(fault)[:100] or type(fault).__name__})"
        ) from fault
    if not isinstance(content, dict):
        raise ContentError("no snapshot: a table with segments was expected")
    return content


def _of_device(
    number: int, segments: Sequence[Mapping[str, object]], trace: Sequence[Mapping[str, object]], file: str
) -> DeviceMemory | None:
    reserved = sum(_whole(segment.get("total_size")) for segment in segments)
    allocated = sum(_whole(segment.get("allocated_size")) for segment in segments)
    if not trace and not reserved:
        return None
    steps, live = list(_changes(trace)), LiveBytes()
    reserved -= sum(change for change, _, _ in steps)
    allocated -= sum(change for _, change, _ in steps)
    live.add(BEFORE, max(0, allocated))

    def points() -> Iterator[Point]:
        nonlocal reserved, allocated
        yield "PYTORCH", 0, reserved / _BYTES_PER_MB, allocated / _BYTES_PER_MB
        for place, (more, held, category) in enumerate(steps, 1):
            reserved, allocated = reserved + more, allocated + held
            live.add(category, held)
            yield "PYTORCH", place, reserved / _BYTES_PER_MB, allocated / _BYTES_PER_MB

    use = memory_use(points(), file, sum(event.get("action") in _GIVES for event in trace))
    if use is None:
        return None
    return DeviceMemory(device=number, use=use, modules=tuple(live.modules(file)))


def _changes(trace: Sequence[Mapping[str, object]]) -> Iterator[tuple[int, int, str]]:
    """Change of reserved and of allocated bytes with the category, event by event."""
    held: dict[int, tuple[int, str]] = {}
    for event in trace:
        action, size, address = event.get("action"), _whole(event.get("size")), _whole(event.get("addr"))
        if action in _RESERVES:
            yield size, 0, ""
        elif action in _RETURNS:
            yield -size, 0, ""
        elif action in _GIVES:
            category = category_of(event.get("frames"))
            held[address] = size, category
            yield 0, size, category
        elif action in _TAKES:
            given, category = held.pop(address, (size, BEFORE))
            yield 0, -given, category


class LiveBytes:
    """Bytes that each category holds, with its own peak and its part of the peak of all."""

    def __init__(self) -> None:
        self._held: dict[str, int] = {}
        self._peaks: dict[str, int] = {}
        self._samples: dict[str, int] = {}
        self._total = self._most = 0
        self._at_peak: dict[str, int] = {}

    def add(self, category: str, change: int) -> None:
        """Take a change in bytes."""
        if not change:
            return
        held = self._held.get(category, 0) + change
        self._held[category] = held
        self._samples[category] = self._samples.get(category, 0) + 1
        self._peaks[category] = max(self._peaks.get(category, 0), held)
        self._total += change
        if self._total > self._most:
            self._most, self._at_peak = self._total, {}
        # the table at the peak is copied once memory falls, not at each of its thousands of steps upwards
        elif not self._at_peak:
            self._at_peak = {**self._held, category: held - change}

    def modules(self, file: str) -> list[ModuleMemory]:
        """Memory by category, the largest at the peak first."""
        at_peak = self._at_peak or self._held
        return [
            ModuleMemory(
                component=category,
                peak_mb=self._peaks[category] / _BYTES_PER_MB,
                last_mb=self._held[category] / _BYTES_PER_MB,
                at_peak_mb=at_peak.get(category, 0) / _BYTES_PER_MB,
                samples=self._samples[category],
                place=FactPlace(file),
            )
            for category in sorted(self._held, key=lambda name: -at_peak.get(name, 0))
        ]


def category_of(frames: object) -> str:
    """The part of the program that allocated, from the innermost frame that tells it."""
    stack = [frame for frame in frames if isinstance(frame, dict)] if isinstance(frames, list) else []
    if not stack:
        return WITHOUT_STACK
    for frame in stack:
        file, name = str(frame.get("filename", "")).replace("\\", "/"), str(frame.get("name", ""))
        if "/torch/optim/" in file or "optimizer" in file.rpartition("/")[2].lower():
            return "optimizer"
        if "/torch/autograd/" in file or name in {"backward", "run_backward"}:
            return "backward"
        if "/torch/utils/data/" in file:
            return "input data"
        if "/torch/distributed/" in file and "checkpoint" not in file:
            return "communication and sharding"
        if name in {"forward", "_forward_impl", "_call_impl", "_wrapped_call_impl"}:
            return "forward"
        if name in {"_apply", "convert", "reset_parameters"} or "/torch/nn/init" in file:
            return "parameters"
    return "other"


def _tables(rows: object) -> list[Mapping[str, object]]:
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _whole(value: object) -> int:
    return value if isinstance(value, int) and abs(value) < 1 << 63 else 0
