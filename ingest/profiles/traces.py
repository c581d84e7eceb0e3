"""Chrome traces: the Ascend profiler's trace_view.json and msprof_*.json, and PyTorch's (Kineto) of GPUs.

Read event by event, so a trace of gigabytes needs memory only for its kernels (some 100 bytes each).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ingest.content import Content, ContentError
from ingest.json_stream import JsonStream
from ingest.profiles.cells import nanoseconds, number
from ingest.profiles.facts import Call, Place, StepTime
from ingest.profiles.host_tables import is_loader
from ingest.profiles.kernels import KernelBuilder, is_collective

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ingest.profiles.kernels import Kernels

_OVERLAP = frozenset({"Computing", "Communication", "Communication(Not Overlapped)", "Free"})
_NO_WORK = ("EVENT_", "NOTIFY", "Notify", "PROFILING_", "CAPTURE_", "MODEL_", "Write Value", "STREAM_")
_GPU_KERNELS = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation"})
_RUNTIMES = frozenset({"cuda_runtime", "cuda_driver", "hip_runtime", "privateuse1_runtime", "xpu_runtime"})
COPY = "MEMCPY"
"""Core of a copy between host and device, or within a device, by the copy engine."""


@dataclass(slots=True)
class Trace:
    """What a trace holds.

    Attributes:
        kernels: What ran on devices.
        calls: Calls of the host, summed by name.
        frequency_mhz: Samples of the clock: nanoseconds and megahertz.
        rank: Rank that it names; None if it names none.
        device: Name of the device; empty if not told.
        events: How many events there were.
        is_gpu: Its kernels have the categories of GPUs.
    """

    kernels: Kernels | None = None
    calls: list[Call] = field(default_factory=list)
    frequency_mhz: tuple[tuple[int, float], ...] = ()
    steps: tuple[StepTime, ...] = ()
    rank: int | None = None
    device: str = ""
    events: int = 0
    is_gpu: bool = False


class _Reader:
    """Sorts events into kernels, calls and samples as they come."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.builder = KernelBuilder(file)
        self.calls: dict[tuple[str, str], list[float]] = {}
        self.frequency: list[tuple[int, float]] = []
        self.steps: list[tuple[int, int, str]] = []
        self.events = 0
        self.is_gpu = False

    def take(self, event: object) -> None:
        self.events += 1
        if not isinstance(event, dict):
            return
        phase = event.get("ph")
        if phase == "X":
            self._complete(event)
        elif phase == "C" and event.get("name") == "AI Core Freq":
            at = nanoseconds(event.get("ts"))
            args = event.get("args")
            if at is not None and isinstance(args, dict) and (mhz := number(args.get("MHz"))) > 0:
                self.frequency.append((at, mhz))

    def _complete(self, event: dict[str, object]) -> None:  # noqa: PLR0912  one branch a category
        lasted = event.get("dur")
        if not isinstance(lasted, int | float):
            lasted = number(lasted)
        if not lasted >= 0:  # nan, too
            return
        name = str(event.get("name", ""))
        category = event.get("cat")
        args = event.get("args")
        told = args if isinstance(args, dict) else {}
        if category is None:
            self._of_ascend(event, name, lasted, told)
        elif category in _GPU_KERNELS:
            if category != "gpu_user_annotation":
                self._of_gpu(event, name, lasted, str(category), told)
        elif category in _RUNTIMES:
            self._call("runtime", name, lasted)
        elif category in {"cpu_op", "user_annotation", "Operator"}:
            if name.startswith("ProfilerStep#"):
                at = nanoseconds(event.get("ts"))
                if at is not None:
                    self.steps.append((at, at + round(lasted * 1e3), name.partition("#")[2]))
            elif is_loader(name):
                self._call("loader", name, lasted)
            elif category != "user_annotation":
                self._call("op", name, lasted)
        elif category == "GC" or name in {"GC", "gc.collect"}:
            self._call("gc", name, lasted)
        elif category in {"enqueue", "dequeue"}:
            self._call("queue", name.partition("@")[0], lasted)

    def _of_ascend(self, event: dict[str, object], name: str, lasted: float, told: dict[str, object]) -> None:
        if name in _OVERLAP:
            return
        if "level" in told:
            self._call(str(told["level"]), str(told.get("id") or name.partition("@")[2] or name), lasted)
            return
        task = told.get("Task Type", "")
        if name == "GC":
            self._call("gc", name, lasted)
            return
        is_operator = is_collective(name) and "task type" not in told and "src rank" not in told
        if not is_operator and (not task or "Task Id" not in told):
            return
        kind = str(task)
        if name.startswith(_NO_WORK) or kind.startswith(_NO_WORK) or kind == "PLACE_HOLDER_SQE":
            return
        core = "COMMUNICATION" if is_operator else kind.removeprefix("KERNEL_")
        if name.startswith("MEMCPY") or kind in {"PCIE_DMA_SQE", "SDMA_SQE", "SDMA"}:
            core = COPY
        self.builder.add(
            self.events, nanoseconds(event.get("ts")), duration_us=float(lasted), name=name, core=core,
            stream=str(told.get("Physic Stream Id", told.get("Stream Id", event.get("tid", "")))),
        )  # fmt: skip

    def _of_gpu(
        self, event: dict[str, object], name: str, lasted: float, category: str, told: dict[str, object]
    ) -> None:
        self.is_gpu = True
        core = COPY if category != "kernel" else "COMMUNICATION" if is_collective(name) else "GPU"
        grid = told.get("grid")
        blocks = float("nan")
        if isinstance(grid, list) and grid:
            blocks = 1.0
            for side in grid:
                blocks *= number(side)
        occupancy = number(told.get("est. achieved occupancy %"))
        self.builder.add(
            self.events, nanoseconds(event.get("ts")), duration_us=float(lasted), name=name, core=core,
            stream=str(told.get("stream", event.get("tid", ""))), blocks=blocks,
            pipes={"occupancy": occupancy / 100} if occupancy == occupancy else None,  # noqa: PLR0124  nan
        )  # fmt: skip

    def _call(self, level: str, name: str, lasted: float) -> None:
        held = self.calls.get((level, name))
        if held is None:
            self.calls[level, name] = [lasted, 1, lasted, self.events]
        else:
            held[0] += lasted
            held[1] += 1
            held[2] = max(held[2], lasted)


def read_trace(path: Path, file: str, on_fault: Callable[[str], None]) -> Trace:
    """What a trace holds; of one that breaks off, everything before the break."""
    reader = _Reader(file)
    found = Trace()
    try:
        with Content(path) as content:
            for event in _events(JsonStream(content), found):
                reader.take(event)
    except ContentError as fault:
        on_fault(f"{path.name}: {fault}; read up to there ({reader.events} events)")
    found.events, found.is_gpu = reader.events, reader.is_gpu
    found.frequency_mhz = tuple(sorted(reader.frequency))
    found.kernels = _stepped(reader) if len(reader.builder) else None
    found.calls = [
        Call(level=level, name=name, total_us=held[0], count=int(held[1]), max_us=held[2],
             place=Place(file, (int(held[3]),)))
        for (level, name), held in reader.calls.items()
    ]  # fmt: skip
    return found


def _stepped(reader: _Reader) -> Kernels:
    """Kernels with the step in which each began; before the first and after the last step there is none."""
    import numpy as np

    from ingest.profiles.kernels import Texts

    kernels = reader.builder.done()
    if not reader.steps:
        return kernels
    steps = sorted(set(reader.steps))
    starts = np.array([start for start, _, _ in steps], dtype=np.int64)
    codes = np.searchsorted(starts, kernels.start_ns, side="right").astype(np.int32)
    labels = ("", *(name for _, _, name in steps))
    return type(kernels)(
        file=kernels.file, rows=kernels.rows, start_ns=kernels.start_ns, numbers=kernels.numbers,
        pipes=kernels.pipes, texts={**kernels.texts, "step": Texts(codes, labels)},
    )  # fmt: skip


def _events(stream: JsonStream, found: Trace) -> Iterator[object]:
    """Events of a list, or of an object with ``traceEvents``."""
    if stream.peek() == "[":
        for _ in stream.items():
            yield stream.value()
        return
    for name in stream.members():
        if name == "traceEvents":
            for _ in stream.items():
                yield stream.value()
            continue
        value = stream.value()
        if name == "distributedInfo" and isinstance(value, dict) and isinstance(value.get("rank"), int):
            found.rank = value["rank"]
        elif name == "deviceProperties" and isinstance(value, list) and value and isinstance(value[0], dict):
            found.device = str(value[0].get("name", ""))


def is_trace(head: str) -> bool:
    """Whether a JSON file that begins like this is a trace of events."""
    return (
        '"traceEvents"' in head or ('"ph"' in head and '"ts"' in head) or ('"ph"' in head and '"pid"' in head)
    )
