"""A folder or file that somebody has of a profiler, to the facts of the run."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ingest.profiles.cells import header_of
from ingest.profiles.facts import Profile, Rank
from ingest.profiles.rank import Found, read_rank, split_devices
from ingest.profiles.traces import is_trace
from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_FOLDERS = 20_000
"""Folders below a profile that are looked into; raw data of the profiler lies in thousands."""
_RAW = ("FRAMEWORK", "host", "data", "sqlite", "logs")
_HEAD = 1 << 16
LOOKED_FOR = (
    "looked for kernel_details.csv, op_summary_*.csv, op_statistic_*.csv, task_time_*.csv, "
    "step_trace_time.csv, api_statistic*.csv, communication.json, trace_view.json or another Chrome trace, "
    "ascend_*_profiler_*.db, msprof_*.db, analysis.db, OpBasicInfo*.csv, cluster_step_trace_time.csv"
)


@dataclass(slots=True)
class _Unit:
    """Files of one rank."""

    home: Path
    files: list[Found] = field(default_factory=list)


def read_profile(path: Path) -> Profile:
    """The facts of a run.

    Args:
        path: A folder of one rank or of many, or a single file of a profiler.

    Raises:
        InputError: It does not exist, or nothing in it comes from a profiler.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    units = _units(path)
    if not units:
        raise InputError(f"{path}: not a profile", hint=LOOKED_FOR)
    notes: list[str] = []
    ranks: list[Rank] = []
    shared: list[Rank] = []
    for unit in units:
        read, others = read_rank(unit.home, unit.files, path if path.is_dir() else path.parent)
        ranks += split_devices(read) if read else []
        shared += others
    ranks = _joined(ranks, shared, notes)
    if not ranks:
        raise InputError(f"{path}: nothing in it that came of a profiler could be read", hint=LOOKED_FOR)
    notes += _mixed(ranks)
    return Profile(path=str(path), ranks=tuple(ranks), notes=tuple(notes))


def _units(path: Path) -> list[_Unit]:
    if path.is_file():
        found = classify(path)
        return [_Unit(path.parent, [found])] if found else []
    by_home: dict[Path, _Unit] = {}
    for folder in _folders(path):
        for file in sorted(folder.iterdir()):
            if file.is_file() and not file.name.startswith("."):
                found = classify(file)
                if found is not None:
                    home = _home(folder, path)
                    by_home.setdefault(home, _Unit(home)).files.append(found)
    return [by_home[home] for home in sorted(by_home)]


def _folders(path: Path) -> Iterator[Path]:
    """The folder and those below it, without the raw data of the profiler."""
    waiting, looked = [path], 0
    while waiting and looked < MOST_FOLDERS:
        folder = waiting.pop(0)
        looked += 1
        yield folder
        try:
            below = sorted(item for item in folder.iterdir() if item.is_dir() and not item.is_symlink())
        except OSError:
            continue
        waiting += [item for item in below if item.name not in _RAW and not item.name.startswith(".")]


def _home(folder: Path, top: Path) -> Path:
    """The folder of the rank that files in ``folder`` belong to."""
    if folder.name in {"ASCEND_PROFILER_OUTPUT", "mindstudio_profiler_output"} and folder != top:
        return _home(folder.parent, top) if folder.parent.name.startswith("PROF_") else folder.parent
    if folder.name == "summary" and folder.parent.name.startswith("device_"):
        return folder.parent
    if folder.name.startswith("PROF_") and (folder.parent / "ASCEND_PROFILER_OUTPUT").is_dir():
        return folder.parent
    return folder


def is_log(path: Path) -> bool:
    """Whether a file is none of a profiler but text, as a log is."""
    if not path.is_file() or classify(path) is not None:
        return False
    if path.suffix in {".csv", ".db", ".json"}:
        return False
    with path.open("rb") as file:
        return b"\0" not in file.read(_HEAD)


def classify(path: Path) -> Found | None:
    """What kind of file of a profiler it is, by content rather than by name; None if of none."""
    suffix = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    try:
        if suffix == ".csv":
            kind = Found.kind_of_table(header_of(path), path.name)
        elif suffix == ".db":
            with path.open("rb") as file:
                kind = "database" if file.read(15) == b"SQLite format 3" else ""
        elif suffix in {".json", ".json.gz"}:
            kind = _kind_of_json(path)
        else:
            kind = ""
    except OSError:
        return None
    return Found(path, kind) if kind else None


def _kind_of_json(path: Path) -> str:
    if re.fullmatch(r"profiler_info(_\d+)?\.json", path.name):
        return "info"
    if path.name == "profiler_metadata.json":
        return "metadata"
    from ingest.content import Content, ContentError

    try:
        with Content(path) as content:
            head = next(content.chunks(), b"")[:_HEAD].decode("utf-8", "replace")
    except ContentError:
        return ""
    if '"Communication Time Info"' in head:
        of_cluster = head.lstrip('\ufeff {\n\r\t"').startswith(("(", 'p2p"'))
        return "cluster communication" if of_cluster else "communication"
    if '"Transport Type"' in head and '"Transit Size(MB)"' in head:
        return "matrix"
    return "trace" if is_trace(head) else ""


def _joined(ranks: list[Rank], shared: list[Rank], notes: list[str]) -> list[Rank]:
    """Ranks, with what a cluster's analysis says of those that have none of their own."""
    from dataclasses import replace

    known: dict[int | None, int] = {
        rank.rank: place for place, rank in enumerate(ranks) if rank.rank is not None
    }
    for extra in shared:
        if extra.rank in known:
            held = ranks[known[extra.rank]]
            ranks[known[extra.rank]] = replace(
                held,
                steps=held.steps or extra.steps,
                collectives=held.collectives or extra.collectives,
                links=held.links or extra.links,
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


def _mixed(ranks: list[Rank]) -> list[str]:
    """What should be the same for all ranks of a run, and is not."""
    notes = []
    steps = {rank.rank: tuple(step.step for step in rank.steps) for rank in ranks if rank.steps}
    if len(set(steps.values())) > 1:
        notes.append("the ranks were profiled in different steps, so their times are compared with care")
    for software in sorted({name for rank in ranks for name in rank.software}):
        versions = sorted({rank.software[software] for rank in ranks if software in rank.software})
        if len(versions) > 1:
            notes.append(f"two versions of {software} in one folder: {', '.join(versions)}")
    layouts = sorted({rank.layout for rank in ranks if rank.kernels is not None})
    if len(layouts) > 1:
        notes.append(f"profiles of different kinds in one folder: {', '.join(layouts)}")
    return notes
