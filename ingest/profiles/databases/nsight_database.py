"""SQLite exports of Nsight Systems (``nsys export --type sqlite``): kernels, copies, calls, environment.

Times are nanoseconds since the session began, which the file places on the clock of the world. A table is
there only where something was recorded, and columns come and go with the version.

Source:
    NVIDIA, Nsight Systems user guide, "SQLite Schema Reference"; names of processes and threads: the same,
    "Serialized Process and Thread Identifiers".
"""

import math
import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ingest.files.content import ContentError
from ingest.files.sqlite_file import open_untrusted, tables
from ingest.profiles.cells import LONGEST_US
from ingest.profiles.databases.databases import Database, integer, real
from ingest.profiles.facts.host_spans import LEAST_US, STEP, HostSpans, SpanBuilder
from ingest.profiles.facts.kernel_names import gpu_kernel
from ingest.profiles.facts.kernels import (
    COPY_CORE,
    UNKNOWN_NS,
    Floats,
    Integers,
    KernelBuilder,
    Kernels,
    TextColumn,
    is_collective,
)
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call
from ingest.profiles.facts.step_ranges import StepRange, assign_to_ranges, step_of
from ingest.profiles.tables.host_tables import is_loader
from ingest.profiles.traces.marked_steps import with_launches

_KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
_RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
_SYNCHRONISATION = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
_NS_PER_US = 1e3
_COPIES = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP", 11: "HtoD", 12: "DtoH", 13: "DtoD"}
"""Kinds of copies, ENUM_CUDA_MEMCPY_OPER; those to and from arrays have no short name."""
_MEMORIES = {0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed", 5: "Device", 6: "Managed"}
"""Kinds of memory, ENUM_CUDA_MEM_KIND."""
_WAITS = {1: "cudaEventSynchronize", 3: "cudaStreamSynchronize", 4: "cudaDeviceSynchronize"}
"""Calls of the host by the kind of wait that they make, ENUM_CUPTI_SYNC_TYPE."""
_RANGES = "59, 60"
"""Event types of ranges of NVTX: pushed and popped, started and ended (ENUM_NSYS_EVENT_TYPE)."""
_OPERATOR = re.compile(r", (?:op_id|seq) = ")
"""Behind it a range of ``emit_nvtx`` has numbers, before it the name of the operator."""
_VERSION = re.compile(r"(?:_ptsz|_ptds)?_v\d+(?:_ptsz|_ptds)?$")
_VARIABLE = re.compile(r'^(\w+)="?(.*?)"?$', re.DOTALL)
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|_KEY", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class NsightRecording:
    """The facts of a recording of Nsight Systems.

    Attributes:
        kernels: Kernels, copies and fills of all devices; None if there are none.
        calls: Calls of the host, by name and device of the process.
    spans: Those that last longer than a launch, one by one; None where several processes made them.
        device: Names of the devices; empty if unknown.
        environment: Environment variables of the processes, without secrets.
    """

    kernels: Kernels | None
    calls: tuple[Call, ...]
    spans: HostSpans | None
    device: str
    environment: Mapping[str, str]


def is_nsight(path: Path) -> bool:
    """True if a database is an export of Nsight Systems."""
    try:
        database = open_untrusted(path)
    except ContentError:
        return False
    try:
        names = set(tables(database))
    finally:
        database.close()
    return "StringIds" in names and any(
        name.startswith(("CUPTI_ACTIVITY_KIND_", "NVTX_EVENTS", "TARGET_INFO_", "META_DATA_EXPORT"))
        for name in names
    )


def read_nsight(data: Database) -> NsightRecording:
    """The facts of an export."""
    reader = _Reader(data)
    kernels = reader.kernels()
    return NsightRecording(
        kernels=kernels,
        spans=reader.spans(),
        calls=(*reader.runtime_calls(), *reader.framework_calls()),
        device=", ".join(sorted({str(n) for (n,) in _select(data, "TARGET_INFO_GPU", "name")})),
        environment=dict(_environment(data)),
    )


class _Reader:
    """Reads the tables of one export."""

    def __init__(self, data: Database) -> None:
        self.data = data
        self.devices = {
            (integer(pid), integer(cuda)): integer(gpu)
            for pid, cuda, gpu in _select(data, "TARGET_INFO_CUDA_DEVICE", "pid", "cudaId", "gpuId")
        }
        """Number of the device by process and the number that the process has for it."""
        self.base_ns = next((integer(at) for (at,) in _session(data)), 0)
        self.owners: dict[int, set[str]] = {}
        """Devices that each process used."""
        self.launched_ns = np.zeros(0, np.int64)
        """When the kernels were launched, as far as it is known, since the session began."""

    def kernels(self) -> Kernels | None:
        """Kernels, copies and fills with the step in which each was launched."""
        builder = KernelBuilder(self.data.file)
        keys, starts = array("q"), array("q")
        without = 0
        for table in (_KERNEL, "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"):
            for row, cells in self._work(table):
                start, end = integer(cells["start"]), integer(cells["end"])
                lasted = (end - start) / _NS_PER_US
                if not 0 <= lasted <= LONGEST_US:
                    without += 1
                    continue
                pid = _process(cells.get("globalPid"))
                device = self._device(pid, integer(cells.get("deviceId")))
                name, core, blocks = self._named(table, cells)
                kind, types = gpu_kernel(name) if core == "GPU" else ("", "")
                builder.add(
                    row, start + self.base_ns, duration_us=lasted, name=name, core=core, blocks=blocks,
                    kind=kind, input_types=f"{types};{types}" if types else "",
                    stream=str(cells.get("streamId", "")), device=device,
                )  # fmt: skip
                keys.append(_launch_key(pid, cells.get("correlationId")))
                starts.append(start)
        if without:
            self.data.on_fault(
                f"{self.data.path.name}: {without} kernels or copies end before they begin, and are left out"
            )
        if not len(builder):
            return None
        numbers = np.frombuffer(keys, np.int64)
        launched, took = self._launches(numbers)
        self.launched_ns = launched[launched != UNKNOWN_NS]
        known = np.where(launched != UNKNOWN_NS, launched, np.frombuffer(starts, np.int64))
        kernels = self._stepped(builder.build(), numbers, known)
        based = np.where(launched != UNKNOWN_NS, launched + self.base_ns, UNKNOWN_NS)
        return with_launches(kernels, based, took)

    def _work(self, table: str) -> Iterator[tuple[int, dict[str, object]]]:
        wanted = (
            "start", "end", "deviceId", "streamId", "correlationId", "globalPid",
            "demangledName", "shortName", "gridX", "gridY", "gridZ", "copyKind", "srcKind", "dstKind",
        )  # fmt: skip
        names = [name for name in wanted if self.data.has(table, name)]
        if not {"start", "end"} <= set(names):
            return
        listed = ", ".join(f'"{name}"' for name in names)
        for row in self.data.select(f"SELECT rowid, {listed} FROM {table} ORDER BY start"):  # noqa: S608
            yield integer(row[0]), dict(zip(names, row[1:], strict=True))

    def _named(self, table: str, cells: Mapping[str, object]) -> tuple[str, str, float]:
        """Name, core and blocks of a kernel or copy, named as traces of PyTorch name them."""
        if table != _KERNEL:
            if table.endswith("MEMSET"):
                return "Memset (Device)", COPY_CORE, math.nan
            way = _COPIES.get(integer(cells.get("copyKind")), "array")
            ends = [_MEMORIES.get(integer(cells.get(end)), "Unknown") for end in ("srcKind", "dstKind")]
            return f"Memcpy {way} ({ends[0]} -> {ends[1]})", COPY_CORE, math.nan
        name = self.data.text(cells.get("demangledName")) or self.data.text(cells.get("shortName"))
        blocks = math.prod(real(cells.get(f"grid{axis}")) for axis in "XYZ")
        return name, "COMMUNICATION" if is_collective(name) else "GPU", blocks

    def _device(self, pid: int, number: int) -> str:
        found = str(self.devices.get((pid, number), number))
        self.owners.setdefault(pid, set()).add(found)
        return found

    def _launches(self, keys: Integers) -> tuple[Integers, Floats]:
        """When the host launched each kernel, and how long that took; unknown where no call is known."""
        known, at, ended = array("q"), array("q"), array("q")
        if self.data.has(_RUNTIME, "start", "end", "correlationId", "globalTid"):
            for start, end, correlation, thread in self.data.select(
                f'SELECT start, "end", correlationId, globalTid FROM {_RUNTIME}'  # noqa: S608  a constant
            ):
                known.append(_launch_key(_process(thread), correlation))
                at.append(integer(start))
                ended.append(integer(end))
        if not known:
            return np.full(len(keys), UNKNOWN_NS), np.full(len(keys), np.nan)
        calls, times = np.frombuffer(known, np.int64), np.frombuffer(at, np.int64)
        order = np.lexsort((times, calls))
        place = order[np.minimum(np.searchsorted(calls[order], keys), len(calls) - 1)]
        found = calls[place] == keys
        lasted = (np.frombuffer(ended, np.int64)[place] - times[place]) / _NS_PER_US
        return np.where(found, times[place], UNKNOWN_NS), np.where(found, lasted, np.nan)

    def spans(self) -> HostSpans | None:
        """Calls of CUDA that last longer than a launch, and steps, of a recording of one process."""
        if len(self.owners) != 1 or not self.data.has(_RUNTIME, "start", "end", "nameId", "globalTid"):
            return None
        [owner] = self.owners
        builder = SpanBuilder()
        for start, end, code, thread in self.data.select(
            f'SELECT start, "end", nameId, globalTid FROM {_RUNTIME} WHERE "end" >= start'  # noqa: S608
        ):
            if _process(thread) != owner:
                continue
            at, lasted, who = integer(start), (integer(end) - integer(start)) / _NS_PER_US, str(thread)
            builder.take_runtime(who, at)
            if lasted >= LEAST_US or "Synchronize" in self.data.text(code):
                builder.take("runtime", _VERSION.sub("", self.data.text(code)), at, lasted, who)
        ranges = ((start, end, text) for start, end, text, pid, _ in self._ranges() if pid == owner)
        steps = [step for start, end, text in ranges if (step := step_of(text, start, end))]
        lengths: dict[str, int] = {}
        for step in steps:
            lengths[step.kind] = lengths.get(step.kind, 0) + step.end_ns - step.start_ns
        outermost = max(lengths, key=lambda kind: lengths[kind], default="")
        for step in steps:
            if step.kind == outermost:
                builder.take(STEP, "", step.start_ns, (step.end_ns - step.start_ns) / _NS_PER_US)
        return builder.build(self.launched_ns, self.base_ns)

    def _ranges(self) -> Iterator[tuple[int, int, str, int, int]]:
        """Ranges of NVTX: begin, end, text, process, row."""
        if not self.data.has("NVTX_EVENTS", "start", "end", "eventType", "globalTid"):
            return
        own = self.data.columns["NVTX_EVENTS"]
        texts = [name if name in own else "NULL" for name in ("text", "textId")]
        for start, end, text, code, thread, row in self.data.select(
            f'SELECT start, "end", {texts[0]}, {texts[1]}, globalTid, rowid FROM NVTX_EVENTS '  # noqa: S608
            f'WHERE "end" >= start AND eventType IN ({_RANGES})'
        ):
            label = str(text) if text is not None else self.data.text(code)
            yield integer(start), integer(end), label, _process(thread), integer(row)

    def _stepped(self, kernels: Kernels, keys: Integers, launched: Integers) -> Kernels:
        """The kernels with the step in which each was launched; those launched outside of any have none."""
        steps: dict[int, list[StepRange]] = {}
        for start, end, text, pid, _ in self._ranges():
            step = step_of(text, start, end)
            if step is not None:
                steps.setdefault(pid, []).append(step)
        if not steps:
            return kernels
        owners = keys >> 32
        codes = np.zeros(len(kernels), np.int32)
        numbers: dict[str, int] = {"": 0}
        for pid, ranges in steps.items():
            mine = owners == pid
            own, labels = assign_to_ranges(launched[mine], ranges)
            codes[mine] = np.array([numbers.setdefault(x, len(numbers)) for x in labels], np.int32)[own]
        return kernels.with_texts(step=TextColumn(codes, tuple(numbers)))

    def runtime_calls(self) -> Iterator[Call]:
        """Calls of CUDA, summed by name and process; without them the waits that the device noted."""
        spent = '"end" - start'
        if self.data.has(_RUNTIME, "start", "end", "nameId", "globalTid"):
            rows = self.data.select(
                f"SELECT nameId, globalTid >> 24, sum({spent}), count(*), max({spent}), min(rowid) "  # noqa: S608
                f'FROM {_RUNTIME} WHERE "end" >= start GROUP BY 1, 2'
            )
            for code, process, *sums in rows:
                yield self._call("runtime", _VERSION.sub("", self.data.text(code)), process, sums, _RUNTIME)
        elif self.data.has(_SYNCHRONISATION, "start", "end", "syncType", "globalPid"):
            rows = self.data.select(
                f"SELECT syncType, globalPid >> 24, sum({spent}), count(*), max({spent}), min(rowid) "  # noqa: S608
                f'FROM {_SYNCHRONISATION} WHERE "end" >= start GROUP BY 1, 2'
            )
            for kind, process, *sums in rows:
                if integer(kind) in _WAITS:
                    yield self._call("runtime", _WAITS[integer(kind)], process, sums, _SYNCHRONISATION)

    def framework_calls(self) -> Iterator[Call]:
        """Operators and loaders of the framework among the ranges of NVTX, summed by name and process."""
        held: dict[tuple[str, str, int], list[int]] = {}
        for start, end, text, pid, row in self._ranges():
            operator = _OPERATOR.split(text, maxsplit=1)
            level = "loader" if is_loader(text) else "op" if len(operator) > 1 else ""
            if level:
                sums = held.setdefault((level, operator[0], pid), [0, 0, 0, row])
                sums[:3] = sums[0] + end - start, sums[1] + 1, max(sums[2], end - start)
        for (level, name, pid), sums in held.items():
            yield self._call(level, name, pid, sums, "NVTX_EVENTS")

    def _call(
        self, level: str, name: str, process: object, sums: list[int] | list[object], table: str
    ) -> Call:
        devices = self.owners.get(integer(process) & 0xFFFFFF, set())
        return Call(
            level=level,
            name=name,
            total_us=real(sums[0]) / _NS_PER_US,
            count=integer(sums[1]),
            max_us=real(sums[2]) / _NS_PER_US,
            place=FactPlace(f"{self.data.file}#{table}", (integer(sums[3]),)),
            device=next(iter(devices)) if len(devices) == 1 else "",
        )


def _process(identifier: object) -> int:
    """The process in a serialised identifier of a process or thread."""
    return (integer(identifier) >> 24) & 0xFFFFFF


def _launch_key(pid: int, correlation: object) -> int:
    return pid << 32 | integer(correlation) & 0xFFFFFFFF


def _select(data: Database, table: str, *columns: str) -> Iterator[tuple[object, ...]]:
    if data.has(table, *columns):
        yield from data.select(f"SELECT {', '.join(columns)} FROM {table}")  # noqa: S608  constants


def _session(data: Database) -> Iterator[tuple[object, ...]]:
    return _select(data, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs")


def _environment(data: Database) -> Iterator[tuple[str, str]]:
    """Variables that the recording noted; one whose name says that it is secret is left out."""
    for name, value in _select(data, "META_DATA_CAPTURE", "name", "value"):
        if str(name).endswith(":ENVIRONMENT_VARIABLE"):
            variable = _VARIABLE.match(str(value))
            if variable is not None and not _SECRET.search(variable[1]):
                yield variable[1], variable[2]
