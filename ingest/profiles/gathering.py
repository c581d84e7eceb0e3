"""The facts in the files of one rank, source by source, before one of them is chosen."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from ingest.files.content import ContentError
from ingest.profiles.checks import KINETO, NSIGHT, ROCPROF
from ingest.profiles.databases import analysis_database, database_details, databases
from ingest.profiles.databases.database_counters import with_counters
from ingest.profiles.databases.nsight_database import read_nsight
from ingest.profiles.facts.details import (
    DataPipeline,
    GroupCall,
    IdleFrame,
    Iteration,
    ModuleMemory,
    ProcessGroup,
)
from ingest.profiles.facts.host_spans import HostSpans
from ingest.profiles.facts.kernels import Kernels
from ingest.profiles.facts.run import Call, Collective, MemoryUse, RankTraffic, StepTime
from ingest.profiles.files import ProfileFile
from ingest.profiles.memory_snapshots import DeviceMemory, read_snapshot
from ingest.profiles.tables import (
    communication,
    data_tables,
    host_tables,
    iterations,
    kernel_tables,
    memory_tables,
    step_tables,
)
from ingest.profiles.tables.operator_profile import OperatorCollector
from ingest.profiles.tables.rocprof_tables import RocprofCollector
from ingest.profiles.traces.trace_metadata import TraceMetadata
from ingest.profiles.traces.traces import read_trace

Row = TypeVar("Row")

LARGE_TRACE = 256 << 20
"""Bytes of a trace beyond which it is left unread where tables tell the kernels: it takes a minute a GB."""
_CALLS = {
    "apis": host_tables.read_apis, "operators": host_tables.read_operators,
    "preprocess": host_tables.read_preprocess, "system calls": host_tables.read_system_calls,
    "dataset": data_tables.read_dataset, "queue": data_tables.read_queue,
}  # fmt: skip
_PIPELINES = {"pipeline": data_tables.read_summary_table, "pipeline raw": data_tables.read_raw}


class Gathering:
    """A collector of the facts in the files of a rank.

    Args:
        home: Folder of the rank, or its one file.
        top: Folder that names of files begin at.
    """

    def __init__(self, home: Path, top: Path) -> None:
        self.home, self.top = home, top
        self.notes: list[str] = []
        self.loads: dict[str, int] = {}
        self.kernels: dict[str, list[Kernels]] = {}
        self.steps: dict[str, list[tuple[str, str, StepTime]]] = {}
        self.collectives: dict[str, list[Collective]] = {}
        self.links: dict[str, list[RankTraffic]] = {}
        self.calls: dict[str, list[Call]] = {}
        self.memory: dict[str, MemoryUse] = {}
        self.allocations: int | None = None
        self.frequency: tuple[tuple[int, float], ...] = ()
        self.totals: dict[str, float] = {}
        self.cluster: dict[int, list[Collective]] = {}
        self.meta: dict[str, object] = {}
        self.rank: int | None = None
        self.layout = ""
        self.snapshots: list[DeviceMemory] = []
        self.iterations: list[Iteration] = []
        self.modules: dict[str, list[ModuleMemory]] = {}
        self.group_calls: tuple[GroupCall, ...] = ()
        self.idle_frames: tuple[IdleFrame, ...] = ()
        self.idle_functions: tuple[IdleFrame, ...] = ()
        self.spans: HostSpans | None = None
        self.pipelines: dict[str, DataPipeline] = {}
        self.groups: tuple[ProcessGroup, ...] = ()
        self.software: dict[str, str] = {}
        self.environment: dict[str, str] = {}
        self.options = ""

    def fault(self, text: str) -> None:
        """Take a note of something that cannot be read or does not add up."""
        self.notes.append(text)

    def name(self, path: Path) -> str:
        """The name of a file."""
        try:
            return str(path.relative_to(self.top))
        except ValueError:
            return path.name

    def take_all(self, files: Sequence[ProfileFile]) -> None:
        """Take every file; one that cannot be read is reported and passed over."""
        for found in files:
            try:
                self._take(found)
            except OSError as fault:
                self.fault(f"{found.path.name}: cannot be read ({fault.strerror or fault})")
        self._operators(files)
        self._rocprof([found.path for found in files if found.kind == "rocprof"])

    def _take(self, found: ProfileFile) -> None:  # noqa: PLR0912  one branch a kind of file
        path, file, kind = found.path, self.name(found.path), found.kind
        if kind in {"kernel_details", "op_summary", "task_time", "kernels"}:
            self._kernels(kind, kernel_tables.read_kernels(path, file, self.fault))
        elif kind == "statistic":
            table, self.totals = kernel_tables.read_statistic(path, file, self.fault)
            self._kernels(kind, table)
        elif kind == "steps":
            self.steps["text"] = self._loaded(file, step_tables.read_steps(path, file, self.fault))
        elif kind == "communication":
            rows = communication.read_collectives(path, file, self.fault)
            self.collectives["text"] = self._loaded(file, rows)
        elif kind == "cluster communication":
            self.cluster = communication.read_cluster(path, file, self.fault)
            self.loads[file] = sum(map(len, self.cluster.values()))
        elif kind == "matrix":
            self.links["text"] = self._loaded(file, communication.read_links(path, file, self.fault))
        elif kind in _CALLS:
            self.calls.setdefault(kind, []).extend(self._loaded(file, _CALLS[kind](path, file, self.fault)))
        elif kind == "record":
            self._memory("text", memory_tables.read_record(path, file, self.fault), file)
        elif kind == "allocations":
            self.allocations, use = memory_tables.read_allocations(path, file, self.fault)
            self.loads[file] = self.allocations
            self._memory("allocations", use, file)
        elif kind == "database":
            self._database(path, file)
        elif kind in {"trace", "kineto"}:
            self._trace(path, file)
            if kind == "kineto":
                self.layout = KINETO
        elif kind == "nsight":
            self._nsight(path, file)
        elif kind == "snapshot":
            self._snapshot(path, file)
        elif kind in {"info", "metadata"}:
            self._info(path)
        elif kind in _PIPELINES:
            self._pipeline(kind, _PIPELINES[kind](path, file, self.fault), file)
        elif kind == "pipeline summary":
            content = communication.load(path, self.fault)
            self._pipeline(kind, data_tables.pipeline(content, file, self.fault), file)
        else:
            self._detail(kind, path, file)

    def _detail(self, kind: str, path: Path, file: str) -> None:
        if kind == "iterations":
            self.iterations += self._loaded(file, iterations.read_iterations(path, file, self.fault))
        elif kind == "modules":
            modules = self._loaded(file, memory_tables.read_modules(path, file, self.fault))
            self.modules.setdefault("text", []).extend(modules)

    def _loaded(self, file: str, rows: list[Row]) -> list[Row]:
        self.loads[file] = len(rows)
        return rows

    def _kernels(self, kind: str, kernels: Kernels) -> None:
        if len(kernels):
            self.kernels.setdefault(kind, []).append(kernels)
        self.loads[kernels.file] = len(kernels)

    def _memory(self, source: str, use: MemoryUse | None, file: str) -> None:
        if use is not None:
            self.memory.setdefault(source, use)
            self.loads.setdefault(file, len(use.timeline))

    def _pipeline(self, kind: str, found: DataPipeline | None, file: str) -> None:
        if found is not None:
            self.pipelines[kind] = found
            self.loads[file] = len(found.stages)

    def _operators(self, files: Sequence[ProfileFile]) -> None:
        """Operators of ``msprof op``, each with the tables of counters that stand beside it."""
        basics = [found.path for found in files if found.kind == "operator"]
        if not basics:
            return
        tables = [found.path for found in files if found.kind == "counters"]
        operators = OperatorCollector(self.name(basics[0]))
        for basic in basics:
            beside = [path for path in tables if path.parent == basic.parent]
            if sum(other.parent == basic.parent for other in basics) > 1:
                beside = [path for path in beside if _stamp(path) == _stamp(basic)]
            beside.sort(key=lambda path: not path.name.startswith("PipeUtilization"))  # the one to point at
            try:
                operators.take(basic, beside, self.fault)
            except OSError as fault:
                self.fault(f"{basic.name}: cannot be read ({fault.strerror or fault})")
        self._kernels("operator", operators.build())
        self.frequency = self.frequency or operators.clock

    def _database(self, path: Path, file: str) -> None:
        before = len(self.notes)
        with databases.Database(path, file, self.fault) as data:
            if not data.columns:
                if len(self.notes) == before:
                    self.fault(f"{path.name}: a database without tables")
                return
            read = databases.read_kernels(data)
            if read is not None:
                self._kernels("database", with_counters(*read, data))
            _first(self.calls, databases.read_calls(data))
            self._memory("database", databases.read_memory(data), file)
            self.frequency = self.frequency or databases.read_frequency(data)
            _first(self.modules, database_details.read_modules(data))
            _first(self.steps, analysis_database.read_steps(data))
            self._collectives(analysis_database.read_collectives(data))
            _first(self.links, analysis_database.read_links(data))
            meta = databases.read_meta(data)
            rank = meta.pop("rank", None)
            if isinstance(rank, int):
                self.rank = rank
            self.meta.update(meta)
            self.loads.setdefault(file, len(data.columns))

    def _snapshot(self, path: Path, file: str) -> None:
        try:
            found = read_snapshot(path, file)
        except ContentError as fault:
            self.fault(f"{path.name}: {fault}")
            return
        self.snapshots += found
        self.loads[file] = sum(device.use.allocations or 0 for device in found)

    def _nsight(self, path: Path, file: str) -> None:
        with databases.Database(path, file, self.fault) as data:
            found = read_nsight(data)
        self.layout = NSIGHT
        if found.kernels is not None:
            self._kernels(NSIGHT, found.kernels)
        self.calls["trace"] = list(found.calls)
        self.spans = self.spans or found.spans
        self.meta["device"] = found.device
        self.meta["ENV_VARIABLES"] = found.environment
        self.loads.setdefault(file, len(found.calls))

    def _rocprof(self, paths: list[Path]) -> None:
        if not paths:
            return
        self.layout = ROCPROF
        found = RocprofCollector(self.fault)
        for path in paths:
            try:
                self.loads[self.name(path)] = found.take(path, self.name(path))
            except OSError as fault:
                self.fault(f"{path.name}: cannot be read ({fault.strerror or fault})")
        kernels = found.kernels()
        if kernels is not None:
            self.kernels.setdefault(ROCPROF, []).append(kernels)
            agents = {label for label in kernels.texts["device"].labels if label.isdecimal()}
            if len(agents) == 1:  # a process of one device, whose number tells it from the others
                self.rank = int(agents.pop())
        self.calls["trace"] = found.calls()

    def _collectives(self, rows: list[tuple[int | None, Collective]]) -> None:
        """Operators of this rank, or of the ranks of a cluster."""
        _first(self.collectives, [item for rank, item in rows if rank is None])
        if not self.cluster:
            for rank, item in rows:
                if rank is not None:
                    self.cluster.setdefault(rank, []).append(item)

    def _trace(self, path: Path, file: str) -> None:
        if path.stat().st_size > LARGE_TRACE and {"kernel_details", "op_summary"} & set(self.kernels):
            self.fault(
                f"{path.name}: {path.stat().st_size >> 20} MiB, not read: the tables tell the kernels; "
                "name the file itself to have it read"
            )
            return
        trace = read_trace(path, file, self.fault)
        if trace.kernels is not None:
            self._kernels("trace", trace.kernels)
        self.loads[file] = trace.events
        self.calls.setdefault("trace", []).extend(trace.calls)
        self.frequency = self.frequency or trace.counters.frequency_mhz
        self.modules.setdefault("trace", []).extend(trace.counters.modules())
        self._memory("trace", trace.memory, file)
        self.group_calls += trace.group_calls
        self.idle_frames += trace.idle_frames
        self.idle_functions += trace.idle_functions
        self.spans = self.spans or trace.spans
        if trace.is_gpu:
            self.layout = KINETO
        self._beside(trace.metadata)

    def _beside(self, metadata: TraceMetadata) -> None:
        """Take what stands beside the events of a trace."""
        if metadata.device:
            self.meta["device"] = metadata.device
        if metadata.rank is not None:
            self.rank = metadata.rank
        self.groups = self.groups or metadata.groups
        self.software.update(metadata.software)
        self.environment.update(metadata.environment)
        self.options = self.options or ", ".join(metadata.options)
        if metadata.parallel:
            self.meta.setdefault("distributed_args", metadata.parallel)

    def _info(self, path: Path) -> None:
        content = communication.load(path, self.fault)
        self.meta.update(content)
        number = content.get("rank_id", content.get("rank"))
        if number is None:  # MindSpore's says it in its name alone
            number = path.stem.rpartition("_")[2]
        if (isinstance(number, int) and number >= 0) or (isinstance(number, str) and number.isdecimal()):
            self.rank = int(number)


def _first(held: dict[str, list[Row]], rows: list[Row]) -> None:
    """Keep the rows of the first database: others of a folder were made from the same recording."""
    if rows:
        held.setdefault("database", rows)


def _stamp(path: Path) -> str:
    """The time in the name of a file, such as in ``L2Cache_20240603022812284.csv``."""
    return path.stem.partition("_")[2]
