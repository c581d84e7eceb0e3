"""Kinds of profiler files, recognised by columns and content, not by name."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ingest.files.content import Content, ContentError
from ingest.profiles.cells import header_of
from ingest.profiles.databases.nsight_database import is_nsight
from ingest.profiles.memory_snapshots import is_snapshot_json, is_snapshot_pickle
from ingest.profiles.tables import (
    data_tables,
    host_tables,
    iterations,
    kernel_tables,
    memory_tables,
    operator_profile,
    rocprof_tables,
    step_tables,
)
from ingest.profiles.traces.traces import is_trace

_HEAD = 1 << 16
_ARCHIVES = (
    (0, b"PK\x03\x04", "zip"), (0, b"7z\xbc\xaf\x27\x1c", "7z"), (0, b"Rar!", "rar"),
    (257, b"ustar", "tar"), (0, b"\xfd7zXZ\x00", "xz"), (0, b"\x28\xb5\x2f\xfd", "zstd"),
    (0, b"BZh", "bzip2"), (0, b"\x1f\x8b", "gzip"),
)  # fmt: skip
"""Place and content of the mark by which archives are known."""
_SIMULATED = ("simulator", "simulation")

_TABLES: tuple[tuple[str, Callable[[frozenset[str]], bool]], ...] = (
    ("operator", operator_profile.is_basic),
    ("steps", step_tables.is_step_table),
    ("iterations", iterations.is_iteration_table),
    ("apis", host_tables.is_api_table),
    ("system calls", host_tables.is_system_call_table),
    ("operators", host_tables.is_operator_table),
    ("record", memory_tables.is_record),
    ("modules", memory_tables.is_module_memory),
    ("allocations", memory_tables.is_operator_memory),
    ("statistic", kernel_tables.is_statistic),
    ("preprocess", host_tables.is_preprocess),
    ("counters", operator_profile.is_counters),
    ("pipeline", data_tables.is_pipeline_summary),
    ("pipeline raw", data_tables.is_pipeline_raw),
    ("dataset", data_tables.is_dataset),
    ("queue", data_tables.is_queue_table),
)


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """A file with its kind."""

    path: Path
    kind: str


def classify(path: Path) -> ProfileFile | None:
    """The kind of a profiler's file; None for other files."""
    suffix = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    try:
        if suffix == ".csv":
            kind = _kind_of_table(header_of(path))
        elif suffix in {".db", ".sqlite", ".sqlite3"}:
            kind = _kind_of_database(path)
        elif suffix in {".json", ".json.gz"}:
            kind = _kind_of_json(path)
        elif suffix in {".pickle", ".pkl"}:
            kind = "snapshot" if is_snapshot_pickle(path) else ""
        else:
            kind = ""
    except OSError:
        return None
    return ProfileFile(path, kind) if kind else None


def _kind_of_table(header: frozenset[str]) -> str:
    for kind, is_it in _TABLES:
        if is_it(header):
            return kind
    if rocprof_tables.is_rocprof(header):
        return "rocprof"
    if not kernel_tables.is_kernel_table(header):
        return ""
    if {"kernel_name", "task_time(us)"} <= header:
        return "task_time"
    if {"Op Name", "Task Duration(us)"} <= header:
        return "op_summary"
    return "kernel_details" if {"Name", "Duration(us)"} <= header else "kernels"


def _kind_of_database(path: Path) -> str:
    with path.open("rb") as file:
        if file.read(15) != b"SQLite format 3":
            return ""
    if is_nsight(path):
        return "nsight"
    return "database" if path.suffix == ".db" else ""


def _kind_of_json(path: Path) -> str:
    if re.fullmatch(r"profiler_info(_\d+)?\.json", path.name):
        return "info"
    if path.name == "profiler_metadata.json":
        return "metadata"
    try:
        with Content(path) as content:
            head = next(content.chunks(), b"")[:_HEAD].decode("utf-8", "replace")
    except ContentError:
        return ""
    if '"Communication Time Info"' in head:
        of_cluster = head.lstrip('\ufeff {\n\r\t"').startswith(("(", 'p2p"'))
        return "cluster communication" if of_cluster else "communication"
    if path.suffix == ".json" and is_snapshot_json(head):
        return "snapshot"
    if '"Transport Type"' in head and '"Transit Size(MB)"' in head:
        return "matrix"
    if '"pipeline_ops"' in head and '"queue_' in head:
        return "pipeline summary"
    if not is_trace(head) or any(part in _SIMULATED for part in path.parts[-3:-1]):
        return ""
    is_kineto = path.name != "trace_view.json" and (
        '"schemaVersion"' in head or '"deviceProperties"' in head or '"distributedInfo"' in head
    )
    return "kineto" if is_kineto else "trace"


def archive(path: Path) -> str:
    """The kind of an archive; empty for other files."""
    with path.open("rb") as file:
        head = file.read(512)
    return next((name for at, mark, name in _ARCHIVES if head[at : at + len(mark)] == mark), "")


def is_log(path: Path) -> bool:
    """True if a file is none of a profiler but text, as a log is."""
    try:
        if not path.is_file() or classify(path) is not None or archive(path):
            return False
        with path.open("rb") as file:
            head = file.read(_HEAD)
        if path.suffix in {".csv", ".db", ".json", ".sqlite", ".sqlite3"}:
            return b'"numActiveRequests"' in head  # statistics of TensorRT-LLM
        return head.count(0) * 20 <= len(head)  # a few zeros stand where a program was killed
    except OSError:
        return False
