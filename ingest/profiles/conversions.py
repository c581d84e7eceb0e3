"""Recordings in the own form of a tool, which are not read, and how that tool converts them.

Source:
    Nsight Systems, user guide (``nsys export``); ROCprofiler-SDK, "Using rocpd output format".
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from ingest.files.content import ContentError
from ingest.files.sqlite_file import open_untrusted, tables

_NSYS = "nsys export --type sqlite, and name the .sqlite file"
_ROCPROF = "rocprofv3 --output-format csv, or json"
_PERFETTO = "record JSON or tables with the device's own profiler: torch.profiler, nsys, rocprofv3"
_BY_SUFFIX = {
    ".nsys-rep": _NSYS,
    ".qdrep": _NSYS,
    ".ncu-rep": "a report of single kernels (Nsight Compute) tells no step: record one with nsys profile",
    ".pftrace": _ROCPROF,
    ".otf2": _ROCPROF,
    ".perfetto-trace": _PERFETTO,
}
_ROCPD = "rocpd convert -i FILE --output-format csv, or rocprofv3 --output-format csv, or json"


def conversion_of(files: Iterable[Path]) -> tuple[Path, str] | None:
    """The first file in the own form of a tool, and how to convert it; None where there is none."""
    for path in files:
        hint = _BY_SUFFIX.get(path.suffix) or (_ROCPD if path.suffix == ".db" and is_rocpd(path) else "")
        if hint:
            return path, hint
    return None


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
