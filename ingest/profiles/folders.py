"""Reading of a profile: a folder or file of a profiler to the facts of the run."""

import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ingest.files.content import ContentError
from ingest.files.sniffing import read_head
from ingest.files.sqlite_file import open_untrusted, tables
from ingest.profiles.checks import missing_facts
from ingest.profiles.facts.kernels import Kernels
from ingest.profiles.facts.run import Profile, Rank
from ingest.profiles.files import ProfileFile, archive, classify, is_log
from ingest.profiles.rank import read_rank, split_devices
from ingest.profiles.tables.rocprof_tables import process_of
from ingest.profiles.traces.gpu_collectives import separate_waiting
from kg.errors import InputError

MOST_FOLDERS = 20_000
"""Folders below a profile that are looked into; raw data of the profiler lies in thousands."""
_INSIDE = frozenset({"ASCEND_PROFILER_OUTPUT", "mindstudio_profiler_output", "analyze", "analyse"})
"""Folders in that of a rank."""
LEAST_SHARED = 0.2
"""Share of the time of kernels, name by name, below which two ranks may be of two jobs. Assumed: stages of a
pipeline share their layers, which are most of the time."""
_RAW = ("host", "data", "sqlite", "logs")
LOOKED_FOR = (
    "looked for kernel_details.csv, op_summary_*.csv, op_statistic_*.csv, task_time_*.csv, step_trace*.csv, "
    "api_statistic*.csv, communication*.json, trace_view.json or another "
    "Chrome trace, ascend_*_profiler_*.db, msprof_*.db, analysis.db, OpBasicInfo*.csv, "
    "minddata_pipeline_*, cluster_step_trace_time.csv, SQLite of nsys export, "
    "*_kernel_trace.csv of rocprofv3, results.csv of rocprof, "
    "a memory snapshot of PyTorch (.pickle, .json)"
)

__all__ = ["is_log", "read_profile"]


@dataclass(slots=True)
class _Unit:
    """Files of one rank."""

    home: Path
    files: list[ProfileFile] = field(default_factory=list)


def read_profile(path: Path) -> Profile:
    """The facts of a run.

    Args:
        path: A folder of one rank or of many, or a single file of a profiler.

    Raises:
        InputError: It does not exist, or nothing in it comes from a profiler.
    """
    units = _units(path)
    if not units:
        flaw = read_head(path).flaw if path.is_file() else ""
        raise _unread(path) or InputError(
            f"{path}: not a profile{flaw and f', and no log: {flaw}'}", hint=LOOKED_FOR
        )
    notes: list[str] = []
    ranks: list[Rank] = []
    shared: list[Rank] = []
    for unit in units:
        top = path if path.is_dir() else path.parent
        read, others = read_rank(unit.home, unit.files, top, notes.append)
        ranks += split_devices(read) if read else []
        shared += others
    ranks = _numbered(_joined(ranks, shared, notes), notes)
    ranks = [replace(rank, missing=tuple(missing_facts(rank))) for rank in separate_waiting(ranks)]
    if not ranks and (unread := _unread(path)) is not None:
        raise unread
    if not ranks:
        reasons = "; ".join(notes[:3]) + (f" and {len(notes) - 3} more" if len(notes) > 3 else "")
        raise InputError(f"{path}: nothing in it that came of a profiler could be read: {reasons}")
    notes += _mixed(ranks)
    return Profile(path=str(path), ranks=tuple(ranks), notes=tuple(notes))


def _unread(path: Path) -> InputError | None:
    """The error that a recording in the own form of a tool is; None where there is none."""
    files = (file for folder in _folders(path) for file in _listed(folder)) if path.is_dir() else iter([path])
    found = conversion_of(files)
    return None if found is None else InputError(f"{found[0]}: not read in this form", hint=found[1])


def _units(path: Path) -> list[_Unit]:
    """Files by the rank they are of.

    Raises:
        InputError: The path does not exist, cannot be read, or is an archive.
    """
    try:
        is_file, is_folder = path.is_file(), path.is_dir()
        packed = archive(path) if is_file and path.suffix != ".gz" else ""
        if is_folder:
            next(path.iterdir(), None)
    except OSError as fault:
        raise InputError(f"{path}: cannot be read ({fault.strerror or fault})") from fault
    if packed:
        raise InputError(f"{path}: a {packed} archive, not a profile", hint="unpack it, and name the folder")
    if is_file:
        found = classify(path)
        return [_Unit(path.parent, [found])] if found else []
    if not is_folder:
        raise InputError(f"{path}: no such file or folder")
    by_home: dict[Path, _Unit] = {}
    for folder in _folders(path):
        for found in _files(folder):
            home = _home_of(found, folder, path)
            by_home.setdefault(home, _Unit(home)).files.append(found)
    return [by_home[home] for home in sorted(by_home)]


def _home_of(found: ProfileFile, folder: Path, top: Path) -> Path:
    """The folder of the rank that a file belongs to; the file itself, or its process, where it is a rank."""
    if found.kind in {"kineto", "nsight"}:
        return found.path
    if found.kind == "rocprof":
        return folder / process_of(found.path)
    return _home(folder, top)


def _files(folder: Path) -> Iterator[ProfileFile]:
    for file in _listed(folder):
        found = classify(file)
        if found is not None:
            yield found


def _listed(folder: Path) -> list[Path]:
    """Files of a folder, by name, but for hidden ones; none where it cannot be read."""
    try:
        return sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    except OSError:
        return []


def _folders(path: Path) -> Iterator[Path]:
    """The folder and those below it, without the raw data of the profiler; links are not followed."""
    waiting, looked = deque([path]), 0
    while waiting and looked < MOST_FOLDERS:
        folder = waiting.popleft()
        looked += 1
        yield folder
        try:
            below = sorted(item for item in folder.iterdir() if item.is_dir() and not item.is_symlink())
        except OSError:
            continue
        waiting.extend(item for item in below if not _is_raw(item) and not item.name.startswith("."))


def _is_raw(folder: Path) -> bool:
    """True for a folder of raw data of the Ascend profiler; elsewhere its name may mean anything."""
    above = folder.parent.name
    inside = above.startswith(("PROF_", "device_")) or above.endswith(("_ascend_pt", "_ascend_ms"))
    return folder.name == "FRAMEWORK" or (inside and folder.name in _RAW)


def _home(folder: Path, top: Path) -> Path:
    """The folder of the rank that files in ``folder`` belong to."""
    for above in (folder, *folder.parents):
        if above.name.startswith("OPPROF_"):  # its folders are operators and cores of one run
            return above
        if above == top:
            break
    if folder.name in _INSIDE and folder != top:
        return _home(folder.parent, top) if folder.parent.name.startswith("PROF_") else folder.parent
    if folder.name == "summary" and folder.parent.name.startswith("device_"):
        return folder.parent
    if folder.name.startswith("PROF_") and (folder.parent / "ASCEND_PROFILER_OUTPUT").is_dir():
        return folder.parent
    return folder


def _joined(ranks: list[Rank], shared: list[Rank], notes: list[str]) -> list[Rank]:
    """Ranks, completed with the facts of a cluster's analysis."""
    known: dict[int | None, int] = {
        rank.rank: place for place, rank in enumerate(ranks) if rank.rank is not None
    }
    if not known and len(ranks) == len(shared) == 1:  # one process, which its own profile does not number
        known[shared[0].rank] = 0
    for extra in shared:
        if extra.rank in known:
            held = ranks[known[extra.rank]]
            ranks[known[extra.rank]] = replace(
                held,
                steps=held.steps or extra.steps,
                collectives=held.collectives or extra.collectives,
                links=held.links or extra.links,
                memory=held.memory or extra.memory,
                details=replace(held.details, modules=(*held.details.modules, *extra.details.modules)),
                loads={**held.loads, **extra.loads},
            )
        else:
            known[extra.rank] = len(ranks)
            ranks.append(extra)
    numbers = [rank.rank for rank in ranks if rank.rank is not None]
    twice = sorted({number for number in numbers if numbers.count(number) > 1})
    if twice:
        notes.append(
            f"rank {', '.join(map(str, twice))} comes more than once: several runs lie in this folder, "
            "and are shown beside each other, not compared"
        )
    return sorted(ranks, key=lambda rank: (rank.rank is None, rank.rank or 0, rank.folder))


def _numbered(ranks: list[Rank], notes: list[str]) -> list[Rank]:
    """The ranks; several of which none has a number are numbered in the order of their names."""
    if len(ranks) < 2 or any(rank.rank is not None for rank in ranks):
        return ranks
    named = ", ".join(f"{number} is {rank.folder}" for number, rank in enumerate(ranks[:8]))
    notes.append(f"no file tells its rank: taken as ranks of one run in the order of their names ({named})")
    return [replace(rank, rank=number) for number, rank in enumerate(ranks)]


def _strangers(ranks: list[Rank]) -> Iterator[str]:
    """Notes on ranks whose kernels are so unlike those of the first that they may be of another job."""
    times = [(rank, _time_by_name(rank.kernels)) for rank in ranks if rank.kernels is not None]
    for rank, mine in times[1:]:
        first, theirs = times[0]
        shared = sum(min(mine[name], theirs.get(name, 0.0)) for name in mine)
        if shared < LEAST_SHARED:
            yield (
                f"{shared:.0%} of the time of kernels is alike on {rank.folder} and {first.folder}: "
                "if they are two jobs, name one of them at a time"
            )


def _time_by_name(kernels: Kernels) -> dict[str, float]:
    """Share of the time of compute kernels by their label: all jobs reduce alike, and wait as it comes."""
    label, spent = kernels.label, np.nan_to_num(kernels.duration_us) * kernels.is_compute
    sums = np.bincount(label.codes, weights=spent, minlength=len(label.labels))
    total = float(sums.sum()) or 1.0
    return {name: float(us) / total for name, us in zip(label.labels, sums, strict=True) if us > 0}


def _mixed(ranks: list[Rank]) -> list[str]:
    """Notes on ranks that are missing, and on differences between ranks of a run that should be alike."""
    notes = []
    ends = {end for rank in ranks for link in rank.links for end in (link.source, link.target)}
    numbers = {rank.rank for rank in ranks}
    absent = sorted({int(end) for end in ends if end.isdecimal()} - numbers)
    sizes = [rank.parallel.get("world_size") for rank in ranks]
    world = max((size for size in sizes if isinstance(size, int)), default=0)
    talks = any(rank.kernels is not None and rank.kernels.is_communication.any() for rank in ranks)
    if not absent and talks and len(numbers) < world and None not in numbers:
        one = "one rank is" if len(numbers) == 1 else f"{len(numbers)} ranks are"
        notes.append(
            f"the job has {world} ranks, of which {one} here: what it waits for may lie on the others"
        )
    if absent and None not in numbers:
        which = ", ".join(map(str, absent[:8]))
        notes.append(
            f"the links name {len(ends)} ranks, of which {len(absent)} are not here ({which}): "
            "what these ranks wait for may lie there"
        )
    steps = {rank.rank: tuple(step.step for step in rank.steps) for rank in ranks if rank.steps}
    if len(set(steps.values())) > 1:
        notes.append("the ranks were profiled in different steps, so their times are compared with care")
    for software in sorted({name for rank in ranks for name in rank.software}):
        versions = sorted({rank.software[software] for rank in ranks if software in rank.software})
        if len(versions) > 1:
            notes.append(f"two versions of {software} in one folder: {', '.join(versions)}")
    notes += _strangers(ranks)
    layouts = sorted({rank.layout for rank in ranks if rank.kernels is not None})
    if len(layouts) > 1:
        notes.append(f"profiles of different kinds in one folder: {', '.join(layouts)}")
    return notes


_NSYS = "nsys export --type sqlite, and name the .sqlite file"
_ROCPROF = "rocprofv3 --output-format csv"
_PERFETTO = "record JSON or tables with the device's own profiler: torch.profiler, nsys, rocprofv3"
_BY_SUFFIX = {
    ".nsys-rep": _NSYS,
    ".qdrep": _NSYS,
    ".ncu-rep": "a report of single kernels (Nsight Compute) tells no step: record one with nsys profile",
    ".pftrace": _ROCPROF,
    ".otf2": _ROCPROF,
    ".perfetto-trace": _PERFETTO,
}
_ROCPD = "rocpd convert -i FILE --output-format csv, or rocprofv3 --output-format csv"


def conversion_of(files: Iterable[Path]) -> tuple[Path, str] | None:
    """The first file in the own form of a tool, and how to convert it; None where there is none."""
    for path in files:
        hint = _BY_SUFFIX.get(path.suffix) or (_ROCPD if path.suffix == ".db" and is_rocpd(path) else "")
        if not hint and path.suffix == ".csv" and _is_nsight_compute(path):
            hint = _BY_SUFFIX[".ncu-rep"]
        if hint:
            return path, hint
    return None


def _is_nsight_compute(path: Path) -> bool:
    """True if a table lists metrics of kernels, one a row, as ``ncu --csv`` prints them."""
    if not path.is_file():
        return False
    text = read_head(path).text
    return '"Kernel Name"' in text and ('"Metric Name"' in text or '"Host Name"' in text)


def is_rocpd(path: Path) -> bool:
    """True if a database is of rocprofv3 (rocpd)."""
    try:
        database = open_untrusted(path)
    except ContentError:
        return False
    try:
        return any(name.startswith("rocpd_") for name in tables(database))
    except sqlite3.Error:
        return False
    finally:
        database.close()
