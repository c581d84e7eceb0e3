"""Chrome traces: the Ascend profiler's trace_view.json and msprof_*.json, and PyTorch's (Kineto) of GPUs.

Read event by event, so a trace of gigabytes needs memory only for its kernels (some 80 bytes each).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ingest.files.content import Content, ContentError
from ingest.files.json_stream import JsonStream, UnfinishedError
from ingest.profiles.cells import LONGEST_US, nanoseconds, number
from ingest.profiles.facts.details import GroupCall, IdleFrame, ModuleMemory
from ingest.profiles.facts.host_spans import LEAST_US, STEP, HostSpans, SpanBuilder
from ingest.profiles.facts.kernels import COPY_CORE, UNKNOWN_NS, KernelBuilder, Kernels, is_collective
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call, MemoryUse
from ingest.profiles.tables.host_tables import is_loader, level_of
from ingest.profiles.tables.memory_tables import module_memory
from ingest.profiles.traces.gpu_events import (
    CATEGORIES,
    COMPILED,
    COPY,
    KERNEL,
    MARKS,
    OPERATOR,
    RUNTIME,
    SAVING,
    GpuEvents,
)
from ingest.profiles.traces.marked_steps import (
    Step,
    notes_on,
    steps_of_updates,
    with_launches,
    with_steps,
)
from ingest.profiles.traces.python_frames import COLLECTOR_FRAME, PythonFrames
from ingest.profiles.traces.trace_metadata import LATEST_NS, TraceMetadata

_OVERLAP = frozenset({"Computing", "Communication", "Communication(Not Overlapped)", "Free"})
_NO_WORK = ("EVENT_", "NOTIFY", "Notify", "PROFILING_", "CAPTURE_", "MODEL_", "Write Value", "STREAM_")

_SUMMED = frozenset({"queue", "python"})
"""Levels of calls that hold others: when they ran tells nothing that the calls within them do not."""

MOST_DAMAGED = 1000
"""Events of no JSON that are passed over; a file of more is broken by something else."""


@dataclass(slots=True)
class Trace:
    """The facts in a trace.

    Attributes:
        kernels: Kernels of devices.
        calls: Calls of the host, summed by name.
        counters: Samples of the clock, bandwidths and memory.
        metadata: What stands beside its events: rank, groups, devices, versions, variables.
        events: Number of events.
        is_gpu: Its kernels have the categories of GPUs.
        memory: Use of device memory; None if it was not recorded.
        group_calls: Collectives that it names with their groups.
        damaged: Events that are no JSON, and are passed over.
        idle_frames: Functions that ran while the device had nothing to do.
        idle_functions: The same, with what they called of Python's own library.
        spans: When longer calls of the host ran; None without any.
    """

    kernels: Kernels | None = None
    calls: list[Call] = field(default_factory=list)
    counters: CounterEvents = field(default_factory=lambda: CounterEvents(""))
    metadata: TraceMetadata = field(default_factory=TraceMetadata)
    events: int = 0
    is_gpu: bool = False
    memory: MemoryUse | None = None
    group_calls: tuple[GroupCall, ...] = ()
    damaged: int = 0
    idle_frames: tuple[IdleFrame, ...] = ()
    idle_functions: tuple[IdleFrame, ...] = ()
    spans: HostSpans | None = None


class _Reader:
    """Sorts events into kernels, calls and samples as they come."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.builder = KernelBuilder(file)
        self.calls: dict[tuple[str, str], list[float]] = {}
        self.counters = CounterEvents(file)
        self.steps: list[Step] = []
        self.updates: list[Step] = []
        self.events = self.impossible = 0
        self.gpu = GpuEvents(file, self.builder)
        self.is_gpu = False
        self.frames = PythonFrames()
        self.spans = SpanBuilder()
        self.step_thread: object = None
        self.update_thread: object = None

    def mark_steps(self) -> None:
        """Take a step as what lies between two updates, where the program marks none itself."""
        if not self.steps and self.is_gpu:
            self.steps = steps_of_updates(self.updates)
            self.step_thread = self.update_thread
            for start, end, _ in self.steps:
                self.spans.take(STEP, "", start, (end - start) / 1e3)

    def take(self, event: object) -> None:
        self.events += 1
        if not isinstance(event, dict):
            return
        phase = event.get("ph")
        if phase == "X":
            self._complete(event)
        elif phase == "C":
            self.counters.take(event)
        elif phase == "i" and event.get("name") == "[memory]":
            self.gpu.take_memory(event)

    def _complete(self, event: dict[str, object]) -> None:
        lasted = event.get("dur")
        if not isinstance(lasted, int | float):
            lasted = number(lasted)
        if not 0 <= lasted <= LONGEST_US:  # nan, too
            self.impossible += 1
            return
        lasted = float(lasted)
        name = str(event.get("name", ""))
        category = event.get("cat")
        if not isinstance(category, str):
            category = None if category is None else str(category)
        args = event.get("args")
        arguments = args if isinstance(args, dict) else {}
        kind = CATEGORIES.get(category or "")
        if category is None:
            self._of_ascend(event, name, lasted, arguments)
        elif kind in (KERNEL, COPY):
            self.is_gpu = True
            self.gpu.take(event, self.events, kind, lasted, arguments)
        elif kind == RUNTIME:
            self._call("runtime", name, lasted, event)
            self.spans.take_runtime(str(event.get("tid")), nanoseconds(event.get("ts")))
            self.gpu.launches.take_call(arguments.get("correlation"), nanoseconds(event.get("ts")), lasted)
        elif kind is not None:  # an operator or an annotation
            if kind == OPERATOR and "Input Dims" in arguments:
                self.gpu.take_operator(arguments)
            self._of_framework(event, name, lasted, kind)
        elif category == "GC" or name in {"GC", "gc.collect"}:
            self._call("gc", name, lasted, event)
        elif category == "python_function":
            told = self.frames.take(name, event, lasted, arguments)
            if told is not None:
                self._call(*told, lasted, event)
        elif category in {"enqueue", "dequeue"}:
            self._call("queue", name.partition("@")[0], lasted, event)

    def _of_framework(self, event: dict[str, object], name: str, lasted: float, kind: str) -> None:
        if name.startswith("ProfilerStep#"):
            at = nanoseconds(event.get("ts"))
            if at is not None:
                self.steps.append((at, at + round(lasted * 1e3), name.partition("#")[2]))
                self.spans.take(STEP, "", at, lasted)
                self.step_thread = event.get("tid")
        elif is_loader(name):
            self._call("loader", name, lasted, event)
        elif kind == OPERATOR and not name.endswith(COMPILED):
            self._call("op", name, lasted, event)
        elif SAVING.search(name):
            self._call("save", name, lasted, event)
        elif name.startswith(MARKS) or name.endswith(COMPILED):
            at = nanoseconds(event.get("ts"))
            if name.startswith("Optimizer.step#") and at is not None:
                self.updates.append((at, at + round(lasted * 1e3), name))
                self.update_thread = event.get("tid")
            self._call(
                "mark", name.partition("#")[0] if name.startswith("Optimizer") else name, lasted, event
            )

    def _of_ascend(
        self, event: dict[str, object], name: str, lasted: float, arguments: dict[str, object]
    ) -> None:
        if name in _OVERLAP:
            return
        if "level" in arguments:
            self._call(
                level_of(str(arguments["level"])),
                str(arguments.get("id") or name.partition("@")[2] or name),
                lasted,
                event,
            )
            return
        task = arguments.get("Task Type", "")
        if name == "GC":
            self._call("gc", name, lasted, event)
            return
        is_operator = is_collective(name) and "task type" not in arguments and "src rank" not in arguments
        if not is_operator and (not task or "Task Id" not in arguments):
            return
        kind = str(task)
        if name.startswith(_NO_WORK) or kind.startswith(_NO_WORK) or kind == "PLACE_HOLDER_SQE":
            return
        core = "COMMUNICATION" if is_operator else kind.removeprefix("KERNEL_")
        if name.startswith("MEMCPY") or kind in {"PCIE_DMA_SQE", "SDMA_SQE", "SDMA"}:
            core = COPY_CORE
        self.builder.add(
            self.events, nanoseconds(event.get("ts")), duration_us=lasted, name=name, core=core,
            stream=str(arguments.get("Physic Stream Id", arguments.get("Stream Id", event.get("tid", "")))),
        )  # fmt: skip

    def _call(self, level: str, name: str, lasted: float, event: dict[str, object]) -> None:
        if level not in _SUMMED:
            is_kept = lasted >= LEAST_US or name.endswith("Synchronize")
            at = nanoseconds(event.get("ts")) if is_kept else None
            self.spans.take(level, name, at, lasted, str(event.get("tid")))
        held = self.calls.get((level, name))
        if held is None:
            self.calls[level, name] = [lasted, 1, lasted, self.events]
        else:
            held[0] += lasted
            held[1] += 1
            held[2] = max(held[2], lasted)


def read_trace(path: Path, file: str, on_fault: Callable[[str], None]) -> Trace:
    """The facts in a trace; of one that breaks off, those before the break."""
    reader = _Reader(file)
    found = Trace()
    launched = np.zeros(0, np.int64)
    try:
        with Content(path) as content:
            for event in _events(JsonStream(content), found):
                reader.take(event)
    except ContentError as fault:
        on_fault(f"{path.name}: {fault}; read up to there ({reader.events} events)")
    if found.damaged:
        on_fault(f"{path.name}: {found.damaged} events are no JSON, and are left out")
    if reader.impossible:
        on_fault(f"{path.name}: {reader.impossible} events last no time that can be, and are left out")
    found.events, found.is_gpu = reader.events, reader.is_gpu
    found.counters = reader.counters
    reader.mark_steps()
    if len(reader.builder):
        kernels = reader.gpu.with_shapes(reader.builder.build())
        launched, lasted = reader.gpu.launches.times(len(kernels))
        found.kernels = with_launches(with_steps(kernels, reader.steps, launched), launched, lasted)
    for note in notes_on(found.kernels, reader.steps):
        on_fault(f"{path.name}: {note}")
    if found.kernels is not None:
        idle = reader.frames.beside_idle(found.kernels, reader.step_thread)
        found.idle_frames, found.idle_functions = idle
    found.memory, found.group_calls = reader.gpu.memory(), tuple(reader.gpu.calls)
    found.spans = reader.spans.build(launched, _rebase(found))
    if sum(level == "gc" for level, _ in reader.calls) > 1:  # the collector's own events count its frames too
        reader.calls.pop(COLLECTOR_FRAME, None)
    found.calls = [
        Call(level=level, name=name, total_us=held[0], count=int(held[1]), max_us=held[2],
             place=FactPlace(file, (int(held[3]),)))
        for (level, name), held in reader.calls.items()
    ]  # fmt: skip
    return found


def _rebase(trace: Trace) -> int:
    """Times since the epoch instead of since the trace's own base, so that ranks stand on one clock.

    Returns:
        The base; 0 where times are counted from the epoch already.
    """
    kernels, base = trace.kernels, trace.metadata.base_ns
    if not base or kernels is None or base + int(kernels.start_ns.max()) > LATEST_NS:
        return 0
    starts = np.where(kernels.start_ns == UNKNOWN_NS, UNKNOWN_NS, kernels.start_ns + base)
    trace.kernels = kernels.with_values(start_ns=starts)
    trace.group_calls = tuple(replace(call, start_ns=call.start_ns + base) for call in trace.group_calls)
    return base


def _events(stream: JsonStream, trace: Trace) -> Iterator[object]:
    """Events of a list, or of an object with ``traceEvents``."""
    if stream.peek() == "[":
        yield from _whole_items(stream, trace)
        return
    for name in stream.members():
        if name == "traceEvents":
            yield from _whole_items(stream, trace)
            continue
        trace.metadata.take(name, stream.value())


def _whole_items(stream: JsonStream, trace: Trace) -> Iterator[object]:
    """Items of a list but for those that are no JSON.

    PyTorch writes names of Python's functions as they are: one that holds a quotation mark breaks its event.
    The next event begins on a line of its own.
    """
    items = stream.items()
    while True:
        try:
            for _ in items:
                yield stream.value()
        except UnfinishedError:
            raise
        except ContentError:
            if not stream.next_item():
                raise
            trace.damaged += 1
            if trace.damaged > MOST_DAMAGED:
                raise
            items = stream.items_on()
        else:
            return


def is_trace(head: str) -> bool:
    """True if a JSON file that begins like this is a trace of events."""
    return (
        '"traceEvents"' in head or ('"ph"' in head and '"ts"' in head) or ('"ph"' in head and '"pid"' in head)
    )


CLOCK = "AI Core Freq"
_MEMORY = {"APP/Memory": "app", "Device/Memory": "device"}
_KB_PER_MB = 1024.0


class CounterEvents:
    """A collector of events of phase C."""

    def __init__(self, file: str) -> None:
        self._place = FactPlace(file)
        self._memory: list[tuple[str, int, float]] = []
        self._clock: list[tuple[int, float]] = []

    def take(self, event: Mapping[str, object]) -> None:
        """Take one sample."""
        name, values, at = event.get("name"), event.get("args"), nanoseconds(event.get("ts"))
        if not isinstance(name, str) or not isinstance(values, dict) or at is None:
            return
        for cell in values.values():
            value = number(cell)
            if not value >= 0:  # nan, too
                continue
            if name == CLOCK:
                if value > 0:
                    self._clock.append((at, value))
            elif name in _MEMORY:
                self._memory.append((_MEMORY[name], at, value / _KB_PER_MB))

    @property
    def frequency_mhz(self) -> tuple[tuple[int, float], ...]:
        """Samples of the clock: nanoseconds and megahertz."""
        return tuple(sorted(self._clock))

    def modules(self) -> list[ModuleMemory]:
        """Memory of the process and of the device as a whole."""
        return module_memory((("", name, at, amount) for name, at, amount in self._memory), self._place.file)
