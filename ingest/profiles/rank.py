"""One rank's files to its facts: the finest source of each, and what is missing or does not add up."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ingest.profiles import (
    analysis_database,
    communication,
    databases,
    host_tables,
    kernel_tables,
    memory_tables,
    operator_profile,
    step_tables,
)
from ingest.profiles.checks import doubts, lacks
from ingest.profiles.facts import Rank
from ingest.profiles.intervals import split
from ingest.profiles.traces import read_trace

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ingest.profiles.facts import Call, Collective, Link, MemoryUse, StepTime
    from ingest.profiles.kernels import Kernels

Row = TypeVar("Row")

LARGE_TRACE = 256 << 20
"""Bytes of a trace beyond which it is left unread where tables tell the kernels: it takes a minute a GB."""

_RANK = re.compile(r"(?:^|[^a-z])rank[_-]?(\d+)(?![\d.])", re.IGNORECASE)
_FINEST = (
    *("kernel_details", "op_summary", "database", "trace"),
    *("operator", "task_time", "kernels", "statistic"),
)


@dataclass(frozen=True, slots=True)
class Found:
    """A file and what it is."""

    path: Path
    kind: str

    @staticmethod
    def kind_of_table(header: frozenset[str], name: str) -> str:
        """What a CSV file is by its columns; empty if no profiler writes it."""
        tests = (
            ("operator", operator_profile.is_basic(header)),
            ("steps", step_tables.is_step_table(header)),
            ("apis", host_tables.is_api_table(header)),
            ("operators", host_tables.is_operator_table(header)),
            ("record", memory_tables.is_record(header)),
            ("allocations", memory_tables.is_operator_memory(header)),
            ("statistic", kernel_tables.is_statistic(header)),
            ("preprocess", {"Node", "Compute_time(us)"} <= header or {"Node", "Compute_time(ms)"} <= header),
            ("pipes", {"block_id", "sub_block_id"} <= header and name.startswith(operator_profile.PIPES)),
        )
        for kind, is_it in tests:
            if is_it:
                return kind
        if not kernel_tables.is_kernel_table(header) or {"block_id"} & header:
            return ""
        if "kernel_name" in header and "task_time(us)" in header:
            return "task_time"
        if "Op Name" in header and "Task Duration(us)" in header:
            return "op_summary"
        return "kernel_details" if {"Name", "Duration(us)"} <= header else "kernels"


class _Gathering:
    """What the files of a rank say, source by source."""

    def __init__(self, home: Path, top: Path) -> None:
        self.home, self.top = home, top
        self.notes: list[str] = []
        self.loads: dict[str, int] = {}
        self.kernels: dict[str, list[Kernels]] = {}
        self.steps: dict[str, list[tuple[str, str, StepTime]]] = {}
        self.collectives: dict[str, list[Collective]] = {}
        self.links: dict[str, list[Link]] = {}
        self.calls: dict[str, list[Call]] = {}
        self.memory: list[MemoryUse] = []
        self.allocations: int | None = None
        self.frequency: tuple[tuple[int, float], ...] = ()
        self.totals: dict[str, float] = {}
        self.cluster: dict[int, list[Collective]] = {}
        self.meta: dict[str, object] = {}
        self.rank: int | None = None
        self.is_gpu = False
        self.file = ""

    def fault(self, text: str) -> None:
        self.notes.append(text)

    def name(self, path: Path) -> str:
        try:
            return str(path.relative_to(self.top))
        except ValueError:
            return path.name

    def take(self, found: Found, pipes: Path | None) -> None:  # noqa: PLR0912  one branch a kind of file
        path, file = found.path, self.name(found.path)
        kind, fault = found.kind, self.fault
        if kind in {"kernel_details", "op_summary", "task_time", "kernels"}:
            self._kernels(kind, kernel_tables.read_kernels(path, file, fault))
        elif kind == "statistic":
            table, self.totals = kernel_tables.read_statistic(path, file, fault)
            self._kernels(kind, table)
        elif kind == "operator":
            table, clock = operator_profile.read_operator(path, pipes, file, fault)
            self._kernels(kind, table)
            self.frequency = self.frequency or clock
        elif kind == "steps":
            self.steps["text"] = step_tables.read_steps(path, file, fault)
            self.loads[file] = len(self.steps["text"])
        elif kind == "communication":
            self.collectives["text"] = communication.read_collectives(path, file, fault)
            self.loads[file] = len(self.collectives["text"])
        elif kind == "cluster communication":
            self.cluster = communication.read_cluster(path, file, fault)
            self.loads[file] = sum(map(len, self.cluster.values()))
        elif kind == "matrix":
            self.links["text"] = communication.read_links(path, file, fault)
            self.loads[file] = len(self.links["text"])
        elif kind in {"apis", "operators", "preprocess"}:
            readers = {"apis": host_tables.read_apis, "operators": host_tables.read_operators,
                       "preprocess": host_tables.read_preprocess}  # fmt: skip
            self.calls[kind] = readers[kind](path, file, fault)
            self.loads[file] = len(self.calls[kind])
        elif kind == "record":
            use = memory_tables.read_record(path, file, fault)
            if use is not None:
                self.memory.append(use)
                self.loads[file] = len(use.timeline)
        elif kind == "allocations":
            self.allocations = memory_tables.count_allocations(path, fault)
            self.loads[file] = self.allocations
        elif kind == "database":
            self._database(path, file)
        elif kind == "trace":
            self._trace(path, file)
        elif kind in {"info", "metadata"}:
            self._info(path)

    def _kernels(self, kind: str, kernels: Kernels) -> None:
        if len(kernels):
            self.kernels.setdefault(kind, []).append(kernels)
        self.loads[kernels.file] = len(kernels)

    def _database(self, path: Path, file: str) -> None:
        with databases.Database(path, file, self.fault) as data:
            if not data.columns:
                self.fault(f"{path.name}: a database without tables")
                return
            kernels = databases.read_kernels(data)
            if kernels is not None:
                self._kernels("database", kernels)
            self.calls.setdefault("database", []).extend(databases.read_calls(data))
            use = databases.read_memory(data)
            if use is not None:
                self.memory.append(use)
            self.frequency = self.frequency or databases.read_frequency(data)
            for key, read in (
                ("steps", analysis_database.read_steps),
                ("collectives", analysis_database.read_collectives),
                ("links", analysis_database.read_links),
            ):
                held = getattr(self, key)
                rows = read(data)
                if rows:
                    held["database"] = [*held.get("database", []), *rows]
            meta = databases.read_meta(data)
            rank = meta.pop("rank", None)
            if isinstance(rank, int):
                self.rank = rank
            self.meta.update(meta)
            self.loads.setdefault(file, len(data.columns))

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
        self.calls["trace"] = trace.calls
        self.frequency = self.frequency or trace.frequency_mhz
        self.is_gpu = trace.is_gpu
        if trace.device:
            self.meta["device"] = trace.device
        if trace.rank is not None:
            self.rank = trace.rank

    def _info(self, path: Path) -> None:
        content = communication.load(path, self.fault)
        self.meta.update(content)
        told = content.get("rank_id", content.get("rank"))
        if isinstance(told, int) or (isinstance(told, str) and told.isdigit()):
            self.rank = int(told)


_ORDER = ("info", "metadata", "kernel_details", "op_summary")


def read_rank(home: Path, files: Iterable[Found], top: Path) -> tuple[Rank | None, list[Rank]]:
    """The rank that the files of one folder are about, and the ranks that a cluster's analysis tells of."""
    gathered = _Gathering(home, top)
    ordered = sorted(files, key=lambda f: (_ORDER.index(f.kind) if f.kind in _ORDER else len(_ORDER), f.path))
    pipes = next((found.path for found in ordered if found.kind == "pipes"), None)
    for found in ordered:
        try:
            gathered.take(found, pipes)
        except OSError as fault:
            gathered.fault(f"{found.path.name}: cannot be read ({fault.strerror or fault})")
    steps = _preferred(gathered.steps)
    own = [step for kind, _, step in steps if not kind]
    others = _of_cluster(gathered, [row for row in steps if row[0]])
    kernels, kind = _finest(gathered)
    calls = _calls(gathered.calls)
    if not (kernels is not None or own or gathered.collectives or gathered.links or calls or gathered.memory):
        return (None, others) if others else (None, [])
    counted = () if kernels is None else tuple(split(kernels))
    memory = gathered.memory[0] if gathered.memory else None
    if memory is not None and gathered.allocations is not None:
        memory = replace(memory, allocations=gathered.allocations)
    rank = Rank(
        rank=gathered.rank if gathered.rank is not None else _rank_of(home),
        folder=gathered.name(home) if home != top else ".",
        layout=_layout(home, kind, is_gpu=gathered.is_gpu),
        level=_level(gathered.meta),
        device=str(gathered.meta.get("device", "")),
        software=_software(gathered.meta),
        environment=_strings(gathered.meta.get("ENV_VARIABLES")),
        parallel=_table(gathered.meta.get("distributed_args")),
        steps=tuple(own) or counted,
        kernels=kernels,
        collectives=tuple(_preferred(gathered.collectives)),
        links=tuple(_preferred(gathered.links)),
        calls=tuple(calls),
        memory=memory,
        frequency_mhz=gathered.frequency,
        loads=gathered.loads,
        notes=tuple(gathered.notes),
    )
    notes = (*rank.notes, *doubts(rank, counted, gathered.totals))
    return replace(rank, missing=tuple(lacks(rank)), notes=notes), others


def _calls(held: dict[str, list[Call]]) -> list[Call]:
    """Calls of each level from the finest source that has them: no call is counted twice."""
    found: dict[str, list[Call]] = {}
    for source in ("apis", "operators", "preprocess", "trace", "database"):
        levels = {call.level for call in held.get(source, [])} - found.keys()
        for call in held.get(source, []):
            if call.level in levels:
                found.setdefault(call.level, []).append(call)
    return [call for calls in found.values() for call in calls]


def _preferred(held: dict[str, list[Row]]) -> list[Row]:
    """What the text files say, else what the database says."""
    return held.get("text") or held.get("database") or []


def _finest(gathered: _Gathering) -> tuple[Kernels | None, str]:
    for kind in _FINEST:
        held = gathered.kernels.get(kind)
        if held:
            if len(held) > 1:
                gathered.fault(
                    f"{len(held)} files of kernels in one folder: {held[0].file} is read, the others left out"
                )
            return held[0], kind
    return None, ""


def split_devices(rank: Rank) -> list[Rank]:
    """A rank for each device where one table holds several."""
    if rank.kernels is None:
        return [rank]
    column = rank.kernels.texts["device"]
    codes = [int(code) for code in np.unique(column.codes) if column.labels[int(code)].isdigit()]
    if len(codes) < 2:
        return [rank]
    found = []
    for code in codes:
        part = rank.kernels.where(column.codes == code)
        found.append(
            replace(rank, rank=int(column.labels[code]), kernels=part, steps=tuple(split(part)),
                    notes=(*rank.notes, "one table holds several devices: each is shown as a rank"))
        )  # fmt: skip
    return found


def _of_cluster(gathered: _Gathering, steps: list[tuple[str, str, StepTime]]) -> list[Rank]:
    held: dict[int, list[StepTime]] = {}
    for kind, index, step in steps:
        if kind == "rank" and index.isdigit():
            held.setdefault(int(index), []).append(step)
    found = []
    for number in sorted({*held, *gathered.cluster}):
        rank = Rank(
            rank=number, folder=gathered.name(gathered.home), layout="cluster analysis",
            steps=tuple(held.get(number, ())), collectives=tuple(gathered.cluster.get(number, ())),
            loads=gathered.loads, notes=tuple(gathered.notes),
        )  # fmt: skip
        found.append(replace(rank, missing=tuple(lacks(rank)), notes=(*rank.notes, *doubts(rank, (), {}))))
    return found


def _rank_of(home: Path) -> int | None:
    found = _RANK.search(home.name) or re.fullmatch(r"device_(\d+)", home.name)
    return int(found[1]) if found else None


def _layout(home: Path, kind: str, *, is_gpu: bool) -> str:
    if is_gpu:
        return "Kineto trace"
    if kind == "operator":
        return "msprof op"
    if home.name.endswith("_ascend_ms"):
        return "MindSpore profiler"
    if kind in {"op_summary", "task_time", "statistic"}:
        return "msprof"
    return {"trace": "trace", "database": "profiler database"}.get(kind, "Ascend PyTorch Profiler")


def _level(meta: dict[str, object]) -> str:
    config = _table(meta.get("config"))
    for part in ("experimental_config", "common_config"):
        level = _table(config.get(part)).get("_profiler_level")
        if level:
            return str(level).rpartition(".")[2]
    return ""


def _software(meta: dict[str, object]) -> dict[str, str]:
    names = {"torch_npu_version": "torch-npu", "cann_version": "cann", "ms_version": "mindspore"}
    return {ours: str(meta[theirs]) for theirs, ours in names.items() if meta.get(theirs)}


def _table(content: object) -> dict[str, object]:
    return {str(k): v for k, v in content.items()} if isinstance(content, dict) else {}


def _strings(content: object) -> dict[str, str]:
    return {k: v if isinstance(v, str) else json.dumps(v) for k, v in _table(content).items()}
