"""The facts of a profiled run.

Times are in the unit of the attribute's name. None and an empty tuple mean that the profiler did not
collect it; ``Rank.missing`` says so in words, with what to switch on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingest.profiles.facts.details import Details
from ingest.profiles.facts.kernels import Kernels
from ingest.profiles.facts.place import FactPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A fact that the profile lacks, with the way to collect it.

    Attributes:
        what: The fact, such as ``"pipe ratios"``.
        how: How to collect it.
    """

    what: str
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """The split of one step, microseconds; None is not collected.

    Attributes:
        step: Its id; empty where the profiler names none.
        step_us: From its first to its last work on the device.
        computing_us: Some kernel computes.
        exposed_us: Devices communicate and nothing computes.
        overlapped_us: Both.
        free_us: Neither.
        bubble_us: Waiting to receive, as far as the profiler reports it.
        preparing_us: Before the first work on the device.
        place: Where it says so; the profiler's own table, or the kernels it was counted from.
        is_counted: Counted from kernels, not read from a table.
    """

    step: str
    step_us: float
    computing_us: float
    exposed_us: float
    overlapped_us: float
    free_us: float
    place: FactPlace
    bubble_us: float | None = None
    preparing_us: float | None = None
    is_counted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """The data that a collective moved over one kind of link.

    Attributes:
        transport: HCCS, RDMA, SDMA, PCIE, SIO or LOCAL.
        size_mb: Megabytes (10**6).
        time_ms: Time in transit.
        bandwidth_gb_s: As the profiler states it.
        packets: Size in megabytes, count and total time in ms of each packet size.
    """

    transport: str
    size_mb: float
    time_ms: float
    bandwidth_gb_s: float
    packets: tuple[tuple[float, int, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """One communication operator on one rank, with waiting and transferring apart.

    Attributes:
        name: As in the profile.
        group: Communicator.
        step: Step it belongs to.
        is_p2p: Sends and receives between two ranks.
        elapse_ms: From begin to end.
        transit_ms: Moving data.
        wait_ms: Waiting for another rank, synchronisation included.
        start_us: When it began; None if not collected.
        transfers: By kind of link.
        place: File and rows that state it.
        members: Ranks of its group; 0 if unknown.
    """

    name: str
    group: str
    step: str
    is_p2p: bool
    elapse_ms: float
    transit_ms: float
    wait_ms: float
    start_us: float | None
    transfers: tuple[Transfer, ...]
    place: FactPlace
    members: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTraffic:
    """Traffic from one rank to another over a step."""

    source: str
    target: str
    transport: str
    size_mb: float
    time_ms: float
    bandwidth_gb_s: float
    operator: str
    place: FactPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """All calls of the host under one name.

    Attributes:
        level: acl, runtime, hccl, node, model, op, queue, python, gc, loader, aicpu, os, mark (a range that
            the framework names for itself) or dataset: workers that make training data beside the step, so no
            time of the step.
        name: Of the call.
        total_us: All calls together.
        count: How many.
        max_us: The longest; None if not collected.
        place: File and rows that state it.
        device: Number of the device that its process used; empty if unknown, or several.
    """

    level: str
    name: str
    total_us: float
    count: int
    max_us: float | None
    place: FactPlace
    device: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """Device memory over the run, megabytes (2**20), as the allocator saw it.

    Attributes:
        peak_reserved_mb: Most that was reserved; nan if not collected.
        peak_allocated_mb: Most that was in use.
        timeline: Some points (µs since the first, reserved, allocated).
        returned_mb: Reserved memory that went back to the driver, all times together.
        allocations: How many allocations were seen; None if not collected.
        place: File and rows that state it.
    """

    peak_reserved_mb: float
    peak_allocated_mb: float
    timeline: tuple[tuple[float, float, float], ...]
    allocations: int | None
    place: FactPlace
    returned_mb: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One process on one device.

    Attributes:
        rank: Its number; None where the profile has none.
        folder: Folder that it was read from.
        layout: Kind of profile.
        level: Profiler level as it names it; empty if unknown.
        device: Name of the device; empty if unknown.
        software: Versions by software.
        environment: Environment variables that the profiler noted.
        parallel: Parallel sizes that the profiler noted.
        steps: Split of each step in the profiler's table.
        kernels: Kernels of the device.
        collectives: Communication operators.
        links: Traffic by pair of ranks.
        calls: Calls of the host.
        memory: Use of device memory.
        frequency_mhz: Samples of the clock of the cores: nanoseconds and megahertz.
        details: Iterations, memory by module, process groups, data loading.
        loads: File by file, how many rows it gave.
        missing: Facts that were not collected.
        notes: Notes on data that was cut, skipped or does not add up.
    """

    rank: int | None
    folder: str
    layout: str
    level: str = ""
    device: str = ""
    software: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    parallel: Mapping[str, object] = field(default_factory=dict)
    steps: tuple[StepTime, ...] = ()
    kernels: Kernels | None = None
    collectives: tuple[Collective, ...] = ()
    links: tuple[RankTraffic, ...] = ()
    calls: tuple[Call, ...] = ()
    memory: MemoryUse | None = None
    frequency_mhz: tuple[tuple[int, float], ...] = ()
    details: Details = field(default_factory=Details)
    loads: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A run: one or more ranks.

    Attributes:
        path: File or folder that was read.
        ranks: In order of their number.
        notes: Notes on the run.
    """

    path: str
    ranks: tuple[Rank, ...]
    notes: tuple[str, ...] = ()
