"""Facts of one rank from its files: the finest source of each, what is missing, what does not add up."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from ingest.profiles.checks import (
    GPU_LAYOUTS,
    MINDSPORE,
    OPERATOR,
    PYTORCH,
    SNAPSHOT,
    doubts,
    missing_facts,
)
from ingest.profiles.facts.details import Details, ProcessGroup
from ingest.profiles.facts.intervals import split_steps
from ingest.profiles.facts.kernels import Kernels, concatenate
from ingest.profiles.facts.run import Call, MemoryUse, Rank, StepTime
from ingest.profiles.files import ProfileFile
from ingest.profiles.gathering import Gathering
from ingest.profiles.memory_snapshots import DeviceMemory
from ingest.profiles.tables import iterations

Row = TypeVar("Row")

_RANK = re.compile(r"(?:^|[^a-z])rank[_-]?(\d+)(?![\d.])", re.IGNORECASE)
_WORKER = re.compile(r"worker[_-]?(\d+)$", re.IGNORECASE)
"""Names that ranks give to the handler for TensorBoard, as in ``worker3.1623143089861.pt.trace.json``."""
_SLICE = re.compile(r"_slice_\d+")
_FINEST = (
    *GPU_LAYOUTS,
    *("kernel_details", "op_summary", "database", "trace"),
    *("operator", "task_time", "kernels", "statistic"),
)
_CALLS = ("apis", "operators", "preprocess", "dataset", "queue", "system calls", "trace", "database")
_ORDER = ("info", "metadata", "kernel_details", "op_summary")


def read_rank(
    home: Path, files: Iterable[ProfileFile], top: Path, on_fault: Callable[[str], None]
) -> tuple[Rank | None, list[Rank]]:
    """The rank of the files of one folder, and the ranks in a cluster's analysis.

    The reason why nothing of a rank can be read is reported to ``on_fault``; other faults are in its notes.
    """
    gathered = Gathering(home, top)
    known = _without_raw(files)
    gathered.take_all(
        sorted(known, key=lambda f: (_ORDER.index(f.kind) if f.kind in _ORDER else len(_ORDER), f.path))
    )
    steps = _preferred(gathered.steps)
    own = tuple(step for kind, _, step in steps if not kind)
    others = [*_of_cluster(gathered, [row for row in steps if row[0]]), *_of_snapshots(gathered)]
    kernels, kind = _finest(gathered)
    found = _details(gathered)
    calls = [*_calls(gathered.calls), *iterations.data_waits(found.iterations)]
    has_facts = own or gathered.collectives or gathered.links or calls or gathered.memory or found
    if kernels is None and not has_facts:
        if not others:
            for note in gathered.notes or [f"{gathered.name(home)}: nothing in it was recorded"]:
                on_fault(note)
        return None, others
    counted: tuple[StepTime, ...] = ()
    if kernels is not None:
        kernels, counted = iterations.assign_steps(kernels, found.iterations)
        counted = counted or tuple(split_steps(kernels, joined=gathered.layout in GPU_LAYOUTS))
    rank = Rank(
        rank=gathered.rank if gathered.rank is not None else _rank_of(home),
        folder=gathered.name(home) if home != top else ".",
        layout=_layout(gathered, kind),
        level=_level(gathered.meta) or gathered.options,
        device=str(gathered.meta.get("device", "")),
        software={**_software(gathered.meta), **gathered.software},
        environment={**_strings(gathered.meta.get("ENV_VARIABLES")), **gathered.environment},
        parallel=_table(gathered.meta.get("distributed_args")),
        steps=own or counted,
        kernels=kernels,
        collectives=tuple(_preferred(gathered.collectives)),
        links=tuple(_preferred(gathered.links)),
        calls=tuple(calls),
        memory=_memory(gathered),
        frequency_mhz=gathered.frequency,
        details=found,
        loads=gathered.loads,
        notes=tuple(gathered.notes),
    )
    notes = (*rank.notes, *doubts(rank, counted, gathered.totals))
    return replace(rank, missing=tuple(missing_facts(rank)), notes=notes), others


def _without_raw(files: Iterable[ProfileFile]) -> list[ProfileFile]:
    """The files, less those of raw data (PROF_*) of which the framework's profiler exported the same."""
    known = list(files)
    exported = {_told(found) for found in known if found.path.parent.name == "ASCEND_PROFILER_OUTPUT"}
    return [
        found
        for found in known
        if _told(found) not in exported or not any(part.startswith("PROF_") for part in found.path.parts[-3:])
    ]


def _told(found: ProfileFile) -> tuple[str, str]:
    """The subject of a file: tasks apart from their analysis."""
    if found.kind == "database":
        return found.kind, "tasks" if found.path.name.startswith(("ascend_", "msprof_")) else "analysis"
    return found.kind, ""


def _details(gathered: Gathering) -> Details:
    pipelines = gathered.pipelines
    names = [name for name in ("pipeline summary", "pipeline", "pipeline raw") if name in pipelines]
    return Details(
        iterations=tuple(gathered.iterations),
        modules=tuple(_preferred(gathered.modules)),
        group_calls=gathered.group_calls,
        idle_frames=gathered.idle_frames,
        idle_functions=gathered.idle_functions,
        spans=gathered.spans,
        groups=gathered.groups or _groups(gathered.meta.get("parallel_group_info")),
        pipeline=pipelines[names[0]] if names else None,
    )


def _memory(gathered: Gathering) -> MemoryUse | None:
    source = next(
        (name for name in ("text", "database", "allocations", "trace") if name in gathered.memory), ""
    )
    if not source:
        return None
    use = gathered.memory[source]
    return use if gathered.allocations is None else replace(use, allocations=gathered.allocations)


def _calls(held: dict[str, list[Call]]) -> list[Call]:
    """Calls of each level from the finest source that has them: no call is counted twice."""
    found: dict[str, list[Call]] = {}
    for source in _CALLS:
        levels = {call.level for call in held.get(source, [])} - found.keys()
        for call in held.get(source, []):
            if call.level in levels:
                found.setdefault(call.level, []).append(call)
    return [call for calls in found.values() for call in calls]


def _preferred(held: dict[str, list[Row]]) -> list[Row]:
    """The rows of the text files, else of the database, else of the trace."""
    return held.get("text") or held.get("database") or held.get("trace") or []


def _finest(gathered: Gathering) -> tuple[Kernels | None, str]:
    for kind in _FINEST:
        held = gathered.kernels.get(kind)
        if not held:
            continue
        first = held[0]
        slices = [table for table in held if _SLICE.sub("", table.file) == _SLICE.sub("", first.file)]
        if len(slices) < len(held):
            gathered.fault(
                f"{len(held)} files of kernels in one folder: {first.file} is read, the others left out"
            )
        return (concatenate(slices) if len(slices) > 1 else first), kind
    return None, ""


def split_devices(rank: Rank) -> list[Rank]:
    """A rank for each device where one table holds several."""
    if rank.kernels is None:
        return [rank]
    column = rank.kernels.texts["device"]
    codes = [int(code) for code in np.unique(column.codes) if column.labels[int(code)].isdecimal()]
    if len(codes) < 2:
        return [rank]
    notes = ["one table holds several devices: each is shown as a rank"]
    without = int((~np.isin(column.codes, codes)).sum())
    if without:
        notes.append(f"{without} rows of {rank.kernels.file} name no device, and are left out")
    found = []
    for code in codes:
        label = column.labels[code]
        own = rank.details.of_device(label)
        part = rank.kernels.where(column.codes == code)
        part, steps = iterations.assign_steps(part, own.iterations)
        steps = steps or tuple(split_steps(part, joined=rank.layout in GPU_LAYOUTS))
        found.append(
            replace(rank, rank=int(label), kernels=part, steps=steps, details=own,
                    calls=tuple(call for call in rank.calls if call.device in {"", label}),
                    notes=(*rank.notes, *notes))
        )  # fmt: skip
    return found


def _of_cluster(gathered: Gathering, steps: list[tuple[str, str, StepTime]]) -> list[Rank]:
    held: dict[int, list[StepTime]] = {}
    for kind, index, step in steps:
        if kind == "rank" and index.isdecimal():
            held.setdefault(int(index), []).append(step)
    found = []
    for number in sorted({*held, *gathered.cluster}):
        rank = Rank(
            rank=number, folder=gathered.name(gathered.home), layout="cluster analysis",
            steps=tuple(held.get(number, ())), collectives=tuple(gathered.cluster.get(number, ())),
            loads=gathered.loads, notes=tuple(gathered.notes),
        )  # fmt: skip
        found.append(
            replace(rank, missing=tuple(missing_facts(rank)), notes=(*rank.notes, *doubts(rank, (), {})))
        )
    return found


def _of_snapshots(gathered: Gathering) -> list[Rank]:
    """A rank for each device in memory snapshots; the name of a file counts where one device is in it."""
    by_file: dict[str, list[DeviceMemory]] = {}
    for item in gathered.snapshots:
        by_file.setdefault(item.use.place.file, []).append(item)
    return [
        Rank(
            rank=number if number is not None and len(devices) == 1 else device.device,
            folder=file, layout=SNAPSHOT, memory=device.use, details=Details(modules=device.modules),
            loads={file: device.use.allocations or 0}, notes=tuple(gathered.notes),
        )
        for file, devices in by_file.items()
        for number in [_rank_of(Path(file))]
        for device in devices
    ]  # fmt: skip


def _rank_of(home: Path) -> int | None:
    name = home.name.partition(".")[0] if home.is_file() else home.name
    found = _RANK.search(name) or re.fullmatch(r"device_(\d+)", name) or _WORKER.match(name)
    return int(found[1]) if found else None


def _layout(gathered: Gathering, kind: str) -> str:
    if gathered.layout:
        return gathered.layout
    if kind == "operator":
        return OPERATOR
    if gathered.home.name.endswith("_ascend_ms") or "ms_version" in gathered.meta or gathered.pipelines:
        return MINDSPORE
    if kind in {"op_summary", "task_time", "statistic"}:
        return "msprof"
    return {"trace": "trace", "database": "profiler database"}.get(kind, PYTORCH)


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


def _groups(content: object) -> tuple[ProcessGroup, ...]:
    """The process groups that the Ascend profiler noted (``parallel_group_info``)."""
    found = []
    for name, item in _table(content).items():
        about = _table(item)
        ranks = about.get("global_ranks")
        members = ranks if isinstance(ranks, list) else []
        found.append(
            ProcessGroup(
                name=name,
                about=str(about.get("group_name", name)),
                ranks=tuple(rank for rank in members if isinstance(rank, int) and rank >= 0),
            )
        )
    return tuple(found)


def _strings(content: object) -> dict[str, str]:
    return {k: v if isinstance(v, str) else json.dumps(v) for k, v in _table(content).items()}
