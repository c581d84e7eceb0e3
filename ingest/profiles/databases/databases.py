"""Databases of the profiler: ascend_pytorch_profiler_*.db, ascend_mindspore_profiler_*.db, msprof_*.db.

Opened read-only and immutable, so nothing is written beside them. Times are nanoseconds; texts are numbers
of ``STRING_IDS``. Tables and columns that a viewer adds to the files it opens are passed over.
"""

from __future__ import annotations

import bisect
import contextlib
import json
import math
import sqlite3
from array import array
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path

import numpy as np

from ingest.files.content import ContentError
from ingest.files.sqlite_file import open_untrusted, tables
from ingest.profiles.cells import LONGEST_US, number
from ingest.profiles.facts.kernels import Integers, KernelBuilder, Kernels
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call, MemoryUse
from ingest.profiles.tables.host_tables import is_loader, level_of
from ingest.profiles.tables.memory_tables import memory_use

_NS_PER_US = 1e3
BYTES_PER_MB = float(1 << 20)
_KNOWN_SCHEMA = "1"
"""Major version of the schema that is documented and was seen."""
_LONGEST = 1 << 63
_LATEST_NS = 9_100_000_000_000_000_000
_START = itemgetter(1)


class Database:
    """One open database.

    Args:
        path: The file.
        file: Name of the file.
        on_fault: Called with each part that cannot be read.
    """

    def __init__(self, path: Path, file: str, on_fault: Callable[[str], None]) -> None:
        self.path, self.file, self.on_fault = path, file, on_fault
        beside = path.with_name(f"{path.name}-wal")
        if beside.is_file() and beside.stat().st_size > 0:
            on_fault(f"{path.name}: what lies in {beside.name} was never written into it, and is not read")
        self.columns: dict[str, frozenset[str]] = {}
        self._connection: sqlite3.Connection | None = None
        try:
            self._connection = open_untrusted(path)
            self.columns = tables(self._connection)
        except ContentError as fault:
            on_fault(f"{path.name}: {fault}")
        except (sqlite3.Error, UnicodeDecodeError) as fault:
            on_fault(f"{path.name}: no database that can be read ({fault})")
        self._texts: dict[int, str] | None = None

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.close()

    def has(self, table: str, *columns: str) -> bool:
        """True if it has the table, with these columns."""
        return table in self.columns and set(columns) <= self.columns[table]

    def select(self, sql: str) -> Iterator[tuple[object, ...]]:
        """Rows; those before a damaged page are given, and the damage is reported."""
        if self._connection is None:
            return
        try:
            yield from self._connection.execute(sql)
        except (sqlite3.Error, UnicodeDecodeError) as fault:
            self.on_fault(f"{self.path.name}: cannot be read further ({fault})")

    def rows(self, table: str) -> Iterator[tuple[int, dict[str, object]]]:
        """All rows of a table by column name, with their number."""
        if table not in self.columns:
            return
        names = sorted(self.columns[table])
        listed = ", ".join(map(_quoted, names))
        for row in self.select(f"SELECT rowid, {listed} FROM {_quoted(table)}"):  # noqa: S608  quoted
            yield integer(row[0]), dict(zip(names, row[1:], strict=True))

    @property
    def texts(self) -> Mapping[int, str]:
        """Texts by their number."""
        if self._texts is None:
            self._texts = {}
            for table in ("STRING_IDS", "StringIds"):  # of Ascend and of Nsight Systems
                if self.has(table, "id", "value"):
                    rows = self.select(f"SELECT id, value FROM {table}")  # noqa: S608  constants
                    self._texts = {integer(k): str(v) for k, v in rows}
        return self._texts

    def text(self, code: object) -> str:
        """A text by its number; empty where there is none."""
        found = self.texts.get(integer(code), "") if isinstance(code, int) else str(code or "")
        return "" if found == "N/A" else found


def read_kernels(data: Database) -> tuple[Kernels, Integers] | None:
    """Compute tasks and communication operators, with their global task ids; None if there are none.

    A communication operator is several tasks, and has the id -1.
    """
    builder = KernelBuilder(data.file)
    steps = _steps(data)
    ids = array("q")
    if data.has("COMPUTE_TASK_INFO", "globalTaskId") and data.has("TASK", "globalTaskId", "startNs", "endNs"):
        own = data.columns["COMPUTE_TASK_INFO"]
        wanted = {
            "name": "name", "kind": "opType", "core": "taskType", "input_shapes": "inputShapes",
            "input_types": "inputDataTypes", "input_formats": "inputFormats", "output_shapes": "outputShapes",
            "output_types": "outputDataTypes", "output_formats": "outputFormats", "state": "opState",
        }  # fmt: skip
        # blockDim became blockNum; where both are, the first counts threads of another kind of kernel
        blocks = next((name for name in ("blockNum", "blockDim", "block_dim") if name in own), "")
        tasks = data.columns["TASK"]
        listed = [f"t.{name}" if name in tasks else "NULL" for name in ("streamId", "deviceId")]
        listed += [f"c.{blocks}" if blocks else "NULL", "c.waitNs" if "waitNs" in own else "NULL"]
        listed += [f"c.{theirs}" if theirs in own else "NULL" for theirs in wanted.values()]
        without = 0
        for row in data.select(
            f"SELECT t.rowid, c.globalTaskId, t.startNs, t.endNs, {', '.join(listed)} "  # noqa: S608
            "FROM COMPUTE_TASK_INFO c JOIN TASK t ON t.globalTaskId = c.globalTaskId ORDER BY t.startNs"
        ):
            start, lasted = _span(row[2], row[3])
            if lasted is None:
                without += 1
                continue
            texts = {ours: data.text(code) for ours, code in zip(wanted, row[8:], strict=True)}
            ids.append(integer(row[1]))
            builder.add(
                integer(row[0]),
                start,
                duration_us=lasted,
                blocks=real(row[6]) or math.nan,
                wait_us=real(row[7]) / _NS_PER_US,
                pipes=None,
                stream="" if row[4] is None else str(row[4]),
                device="" if row[5] is None else str(row[5]),
                step=_step_at(steps, start),
                **{ours: text.strip('"') if "put" in ours else text for ours, text in texts.items()},
            )
        if without:
            data.on_fault(f"{data.path.name}: {without} tasks have no time that can be, and are left out")
    _communication(data, builder, steps)
    if not len(builder):
        return None
    ids.extend([-1] * (len(builder) - len(ids)))
    return builder.build(), np.array(ids, dtype=np.int64)


def _communication(data: Database, builder: KernelBuilder, steps: list[tuple[str, int, int]]) -> None:
    if not data.has("COMMUNICATION_OP", "opName", "startNs", "endNs"):
        return
    for row, cells in data.rows("COMMUNICATION_OP"):
        start, lasted = _span(cells["startNs"], cells["endNs"])
        if lasted is None:
            continue
        name = data.text(cells["opName"])
        kind = data.text(cells.get("opType"))
        device = cells.get("deviceId")
        builder.add(
            row, start, duration_us=lasted, name=name,
            kind=kind or name.split("__")[0] + "_", core="COMMUNICATION", step=_step_at(steps, start),
            stream=f"group {data.text(cells.get('groupName'))}", device="" if device is None else str(device),
        )  # fmt: skip


def _span(start: object, end: object) -> tuple[int, float | None]:
    """Begin in nanoseconds and length in microseconds; a length of None where the two make none."""
    began, ended = integer(start), integer(end)
    lasted = (ended - began) / _NS_PER_US
    return began, lasted if 0 <= began <= _LATEST_NS and 0 <= lasted <= LONGEST_US else None


def _steps(data: Database) -> list[tuple[str, int, int]]:
    if not data.has("STEP_TIME", "id", "startNs", "endNs"):
        return []
    steps = data.select("SELECT id, startNs, endNs FROM STEP_TIME")
    return sorted(((str(k), integer(a), integer(b)) for k, a, b in steps), key=_START)


def _step_at(steps: list[tuple[str, int, int]], at: int) -> str:
    before = bisect.bisect_right(steps, at, key=_START)
    if before and at < steps[before - 1][2]:
        return steps[before - 1][0]
    return steps[0][0] if len(steps) == 1 else ""


def read_calls(data: Database) -> list[Call]:
    """Calls of the runtime and of the framework, summed by name."""
    found = []
    levels = {}
    if data.has("ENUM_API_TYPE", "id", "name"):
        levels = {integer(k): str(v) for k, v in data.select("SELECT id, name FROM ENUM_API_TYPE")}
    for table in ("CANN_API", "PYTORCH_API"):
        if not data.has(table, "startNs", "endNs", "name", "type"):
            continue
        spent = "CAST(endNs AS INTEGER) - CAST(startNs AS INTEGER)"
        for kind, code, total, n, longest, first in data.select(
            f"SELECT type, name, sum({spent}), count(*), max({spent}), min(rowid) FROM {table} "  # noqa: S608
            "GROUP BY type, name"
        ):
            level, name = levels.get(integer(kind), str(kind)), data.text(code)
            if table == "PYTORCH_API":
                if level == "trace" and "gc" not in name.lower():
                    continue
                level = "loader" if is_loader(name) else level
            if not 0 <= real(total) <= LONGEST_US * _NS_PER_US:
                continue
            found.append(
                Call(
                    level=level_of(level),
                    name=name,
                    total_us=real(total) / _NS_PER_US,
                    count=integer(n),
                    max_us=real(longest) / _NS_PER_US,
                    place=FactPlace(f"{data.file}#{table}", (integer(first),)),
                )
            )
    if data.has("GC_RECORD", "startNs", "endNs"):
        for row, cells in data.rows("GC_RECORD"):
            _, lasted = _span(cells["startNs"], cells["endNs"])
            if lasted is None:
                continue
            found.append(Call(level="gc", name="GC", total_us=lasted, count=1, max_us=lasted,
                              place=FactPlace(f"{data.file}#GC_RECORD", (row,))))  # fmt: skip
    return found


def read_memory(data: Database) -> MemoryUse | None:
    """Memory of the framework's allocator over time."""
    if not data.has("MEMORY_RECORD", "component", "timestamp", "totalReserved", "totalAllocated"):
        return None
    points = (
        (
            data.text(c["component"]).upper(),
            integer(c["timestamp"]),
            real(c["totalReserved"]) / BYTES_PER_MB,
            real(c["totalAllocated"]) / BYTES_PER_MB,
        )
        for _, c in data.rows("MEMORY_RECORD")
    )
    allocations = None
    if data.has("OP_MEMORY"):
        allocations = sum(integer(n) for (n,) in data.select("SELECT count(*) FROM OP_MEMORY"))
    return memory_use(points, f"{data.file}#MEMORY_RECORD", allocations)


def read_frequency(data: Database) -> tuple[tuple[int, float], ...]:
    """Samples of the clock."""
    if not data.has("AICORE_FREQ", "timestampNs", "freq"):
        return ()
    rows = data.select("SELECT timestampNs, freq FROM AICORE_FREQ ORDER BY timestampNs")
    samples = ((integer(at), real(mhz)) for at, mhz in rows)
    return tuple((at, mhz) for at, mhz in samples if mhz > 0)


def read_meta(data: Database) -> dict[str, object]:
    """Metadata of the run: environment, device, rank."""
    found: dict[str, object] = {}
    if data.has("META_DATA", "name", "value"):
        for name, value in data.select("SELECT name, value FROM META_DATA"):
            if name == "SCHEMA_VERSION_MAJOR" and str(value) != _KNOWN_SCHEMA:
                data.on_fault(f"{data.path.name}: schema {value}, known is {_KNOWN_SCHEMA}: "
                              "read as far as its columns are the same")  # fmt: skip
            with contextlib.suppress(ValueError, RecursionError):
                found[str(name)] = json.loads(str(value))
    if data.has("NPU_INFO", "name"):
        names = {str(name) for (name,) in data.select("SELECT name FROM NPU_INFO")}
        found["device"] = ", ".join(sorted(names))
    if data.has("RANK_DEVICE_MAP", "rankId"):
        ranks = [integer(rank) for (rank,) in data.select("SELECT rankId FROM RANK_DEVICE_MAP")]
        if len(ranks) == 1 and ranks[0] >= 0:
            found["rank"] = ranks[0]
    return found


def integer(value: object) -> int:
    """A whole number out of a database, some of them text; 0 where there is none of 64 bits."""
    try:
        found = int(value)  # type: ignore[call-overload]  # what is none is caught
    except (TypeError, ValueError, OverflowError):
        return 0
    return int(found) if -_LONGEST <= found < _LONGEST else 0


def real(value: object) -> float:
    """A number out of a database, some of them text; nan where there is none."""
    if isinstance(value, str | bytes):
        with contextlib.suppress(ValueError):
            return number(float(value))
        return math.nan
    return number(value)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
