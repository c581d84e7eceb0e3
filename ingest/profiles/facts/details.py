"""Facts of a device beyond kernels: iterations, memory by module, process groups, data loading.

Times are in the unit of the attribute's name. None means that the profiler did not collect it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from ingest.profiles.facts.host_spans import HostSpans
from ingest.profiles.facts.place import FactPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """One execution of a graph, as msprof's step_trace has it.

    Attributes:
        number: Iteration id; it counts executions of a graph, not steps of the script.
        model: Id of the graph; empty if unknown.
        length_us: From the end of the iteration before (or its own first forward operator) to its end.
        end_ns: When it ended, nanoseconds since an epoch.
        data_us: From the end of the iteration before to its first forward operator: waiting for data.
        place: File and rows that state it.
        device: Number of the device; empty if unknown.
    """

    number: str
    model: str
    length_us: float
    end_ns: int | None
    data_us: float | None
    place: FactPlace
    device: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleMemory:
    """Device memory that one component of the software holds.

    Attributes:
        component: Name of the component; ``"app"`` and ``"device"`` are process and device as a whole.
        peak_mb: Most that it held, megabytes (2**20).
        last_mb: What it held in the end.
        samples: Number of samples.
        place: File and rows that state it.
        device: Number of the device; empty if unknown.
        at_peak_mb: What it held when all together held most; None if unknown.
    """

    component: str
    peak_mb: float
    last_mb: float
    samples: int
    place: FactPlace
    device: str = ""
    at_peak_mb: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCall:
    """A collective that a trace names with its group; waiting shows only beside the group's other ranks.

    Attributes:
        name: Of the collective, such as ``"allreduce"``.
        group: Name of the process group.
        ranks: Its members; empty if unknown, or not all of them.
        members: Number of members.
        sequence: Number of the call in the group; None if unknown.
        start_ns: When its kernel began.
        lasted_us: Duration of its kernel.
        size_mb: Megabytes (10**6) that one rank gives or gets, the larger; None if unknown.
        place: Where it stands.
        about: What the program calls its group; empty if unknown.
    """

    name: str
    group: str
    ranks: tuple[int, ...]
    members: int
    sequence: int | None
    start_ns: int
    lasted_us: float
    size_mb: float | None
    place: FactPlace
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessGroup:
    """Ranks that communicate with each other.

    Attributes:
        name: As collectives name it.
        about: What it is for, such as ``"default_pg"`` or ``"dp"``; its name where nothing says so.
        ranks: Its members; empty if unknown.
    """

    name: str
    about: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleFrame:
    """A function of the program that ran while the device had nothing to do for long.

    Attributes:
        name: File and function, without what differs from machine to machine.
        us: Time of the recording, what it called left out; of ``Details.idle_functions`` with what it
            called of Python's own library.
    """

    name: str
    us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DataStage:
    """One operation of a data pipeline (MindSpore's dataset).

    Attributes:
        number: Its id in the pipeline.
        name: Of the operation.
    """

    number: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPipeline:
    """The pipeline that makes training data (MindSpore's dataset).

    Attributes:
        stages: Its operations, the one nearest to the device first.
        warning: The operation that MindSpore itself calls the bottleneck; empty if none.
        place: File and rows that state it.
    """

    stages: tuple[DataStage, ...]
    warning: str
    place: FactPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """The facts of one rank beyond its kernels; empty tuples are not collected."""

    iterations: tuple[Iteration, ...] = ()
    modules: tuple[ModuleMemory, ...] = ()
    group_calls: tuple[GroupCall, ...] = ()
    pipeline: DataPipeline | None = None
    groups: tuple[ProcessGroup, ...] = ()
    idle_frames: tuple[IdleFrame, ...] = ()
    idle_functions: tuple[IdleFrame, ...] = ()
    spans: HostSpans | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, item.name) for item in fields(self) if item.name not in {"groups", "spans"})

    def of_device(self, device: str) -> Details:
        """The facts of one device of several, and those that name no device."""
        here = {"", "host", device}
        return replace(
            self,
            iterations=tuple(item for item in self.iterations if item.device in here),
            modules=tuple(item for item in self.modules if item.device in here),
        )
