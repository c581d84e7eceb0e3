"""Real profile folders as files that can be altered: kernels, communication, calls, and the sums over them.

Independent of the readers of the product: cells stay the text that the profiler wrote, and what is summed is
summed here. Traces are left out of copies, for they would tell of the run before the alteration.
"""

import copy
import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAME = {"kernel": ("Name", "Op Name"), "kind": ("Type", "OP Type"), "core": ("Accelerator Core", "Task Type"),
        "start": ("Start Time(us)", "Task Start Time(us)"), "duration": ("Duration(us)", "Task Duration(us)"),
        "wait": ("Wait Time(us)", "Task Wait Time(us)")}  # fmt: skip
STEP = ("Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free", "Stage", "Bubble",
        "Communication(Not Overlapped and Exclude Receive)", "Preparing")  # fmt: skip


@dataclass
class RankFiles:
    """One rank: kernels sorted by start, with numbers beside the text."""

    folder: Path
    table: str
    columns: list[str]
    rows: list[dict[str, str]]
    start: NDArray[np.float64]
    duration: NDArray[np.float64]
    communication: dict[str, Any] = field(default_factory=dict[str, Any])
    matrix: dict[str, Any] = field(default_factory=dict[str, Any])
    apis: list[dict[str, str]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    info: dict[str, Any] = field(default_factory=dict[str, Any])
    step: str = "1"
    preparing: float = 0.0
    rank: int = 0
    loader_us: float = 0.0
    gc_us: list[float] = field(default_factory=list)
    memory: list[tuple[float, float, float]] = field(default_factory=list)
    """Microseconds since the first kernel, megabytes in use and reserved, as PyTorch's allocator had them."""

    names: dict[str, str] = field(default_factory=dict)

    def column(self, what: str) -> str:
        if what not in self.names:
            self.names[what] = next((name for name in NAME[what] if name in self.columns), NAME[what][0])
        return self.names[what]

    def text(self, row: int, what: str) -> str:
        return self.rows[row].get(self.column(what), "")

    def is_communication(self, row: int) -> bool:
        return self.text(row, "core") in {"HCCL", "COMMUNICATION"} or self.text(row, "kernel").startswith(
            "hcom_"
        )

    def compute(self) -> list[int]:
        return [row for row in range(len(self.rows)) if not self.is_communication(row)]

    def length(self) -> float:
        return float((self.start + self.duration).max() - self.start.min())

    def operators(self) -> list[dict[str, Any]]:
        """Communication operators with their numbers, totals left out."""
        return [
            info
            for kinds in self.communication.values()
            for names in kinds.values()
            for name, info in names.items()
            if name != "Total Op Info"
        ]

    def pairs(self) -> list[dict[str, Any]]:
        """Links between different ranks, with their numbers."""
        return [
            info
            for kinds in self.matrix.values()
            for names in kinds.values()
            for name, pairs in names.items()
            if "-total" in name
            for info in pairs.values()
        ]

    def delay(self, row: int, by: float) -> None:
        """Delay all events from ``row`` on."""
        self.start[self.start >= self.start[row]] += by

    def uncovered(self) -> list[int]:
        """Compute kernels at whose begin no communication is in flight: time put in there is free."""
        flying = [row for row in range(len(self.rows)) if self.is_communication(row)]
        covered_ = np.zeros(len(self.rows), bool)
        for row in flying:
            covered_ |= (self.start > self.start[row]) & (self.start <= self.start[row] + self.duration[row])
        return [row for row in self.compute() if not covered_[row]] or self.compute()

    def stretch(self, row: int, by: float) -> None:
        """A kernel runs longer, and what begins after it begins later; communication in flight lasts as long."""
        at = self.start[row] + self.duration[row] - 1e-6
        if not self.is_communication(row):
            for other in self._flying(at):
                self.duration[other] += by
        self.duration[row] += by
        later = self.start >= at
        later[row] = False
        self.start[later] += by

    def _flying(self, at: float) -> list[int]:
        during = (self.start < at) & (self.start + self.duration > at)
        return [int(row) for row in np.flatnonzero(during) if self.is_communication(int(row))]

    def insert(self, row: int, new: dict[str, str], duration: float, gap: float = 1.0) -> None:
        """A kernel more, before ``row``."""
        at = self.start[row]
        self.delay(row, duration + gap)
        self.add([{**new}], [at], [duration])

    def add(self, rows: list[dict[str, str]], start: list[float], duration: list[float]) -> None:
        """Kernels more, at their times."""
        self.rows += rows
        self.start = np.append(self.start, start)
        self.duration = np.append(self.duration, duration)


Random = np.random.Generator


def load(folder: Path) -> RankFiles | None:
    """The files of one rank; None if it has no table of kernels, or one that breaks off."""
    found = sorted([*folder.rglob("kernel_details.csv"), *folder.rglob("op_summary*.csv")])
    if not found:
        return None
    rows = _read(found[0])
    if any(None in row or None in row.values() for row in rows) or not rows:
        return None
    held = RankFiles(folder, found[0].name, list(rows[0]), rows, np.zeros(0), np.zeros(0))
    try:
        first = int(min(float(row[held.column("start")].strip()) for row in rows))
        held.start = np.array([_since(row[held.column("start")].strip(), first) for row in rows])
        held.duration = np.array([float(row[held.column("duration")]) for row in rows])
    except (ValueError, KeyError):
        return None
    beside = found[0].parent
    for name, attribute in (("communication.json", "communication"), ("communication_matrix.json", "matrix")):
        if (beside / name).is_file():
            setattr(held, attribute, json.loads((beside / name).read_text(encoding="utf-8")))
    held.apis = _read(beside / "api_statistic.csv")
    for told in _read(beside / "step_trace_time.csv")[:1]:
        held.step, held.preparing = told["Step"], float(told.get("Preparing") or 0)
    held.memory = [
        (_since(row[_AT].strip(), first), float(row[_USED]), float(row[_RESERVED]))
        for row in _read(beside / "memory_record.csv")
        if row["Component"] == "PTA" and row[_USED]
    ]
    if (path := beside.parent / "profiler_metadata.json").is_file():
        held.metadata = json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(beside.parent.glob("profiler_info*.json")):
        held.info = json.loads(path.read_text(encoding="utf-8"))
        held.rank = int(held.info.get("rank_id", 0) or 0)
    return held


_AT, _USED, _RESERVED = "Timestamp(us)", "Total Allocated(MB)", "Total Reserved(MB)"
_BEGIN = 1_700_000_000_000_000
"""The clock at the first kernel, microseconds."""


def _read(path: Path) -> list[dict[str, str]]:
    """The rows of a table; none where it is not there."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def write_table(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write a table of at least one row; the first has the columns."""
    first, *others = rows
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(first))
        writer.writeheader()
        writer.writerows([first, *others])


def clock(since: float) -> str:
    """Microseconds since the first kernel as the profiler writes them."""
    return f"{_BEGIN + int(since)}{f'{since % 1:.3f}'[1:]}\t"


def _since(text: str, first: int) -> float:
    """Microseconds since ``first``; the fraction survives, for the whole is subtracted as a whole number."""
    whole, _, part = text.partition(".")
    return int(whole) - first + float(f"0.{part or 0}")


def covered(intervals: list[tuple[float, float]]) -> float:
    """Length of a union."""
    total, until = 0.0, float("-inf")
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def split(rank: RankFiles) -> dict[str, float]:
    """The step's split, counted from the kernels."""
    spans = list(zip(rank.start, rank.start + rank.duration, strict=True))
    is_communication = [rank.is_communication(row) for row in range(len(rank.rows))]
    computing = covered([span for span, c in zip(spans, is_communication, strict=True) if not c])
    communication = covered([span for span, c in zip(spans, is_communication, strict=True) if c])
    busy = covered(spans)
    whole = rank.length()
    return {
        "Computing": computing, "Communication(Not Overlapped)": busy - computing,
        "Overlapped": computing + communication - busy, "Communication": communication, "Free": whole - busy,
        "Stage": whole, "Bubble": 0.0, "Communication(Not Overlapped and Exclude Receive)": busy - computing,
        "Preparing": rank.preparing,
    }  # fmt: skip


def save(rank: RankFiles, folder: Path) -> None:
    """Write the rank's folder: tables, and the sums over them."""
    home = folder / f"rank{rank.rank}_ascend_pt"
    inside = home / "ASCEND_PROFILER_OUTPUT"
    inside.mkdir(parents=True)
    made, busy = [], 0.0
    for place in sorted(range(len(rank.rows)), key=lambda row: rank.start[row]):
        wait = max(0.0, rank.start[place] - busy) if busy else 0.0
        busy = max(busy, rank.start[place] + rank.duration[place])
        times = {
            "start": clock(rank.start[place]),
            "duration": f"{rank.duration[place]:.3f}",
            "wait": f"{wait:.3f}",
        }
        made.append({**rank.rows[place], **{rank.column(name): text for name, text in times.items()}})
    write_table(inside / rank.table, made)
    step = {name: f"{value:.3f}" for name, value in split(rank).items()}
    write_table(inside / "step_trace_time.csv", [{"Step": rank.step, **step}])
    for name, content in (
        ("communication.json", rank.communication),
        ("communication_matrix.json", rank.matrix),
    ):
        if content:
            (inside / name).write_text(json.dumps(content))
    if rank.apis:
        write_table(inside / "api_statistic.csv", rank.apis)
    if rank.memory:
        device = f"NPU:{rank.rank}"
        held = (
            {
                "Component": "PTA",
                _AT: f"{_BEGIN + at:.3f}",
                _USED: used,
                _RESERVED: reserved,
                "Device Type": device,
            }
            for at, used, reserved in rank.memory
        )
        write_table(inside / "memory_record.csv", held)
    (home / f"profiler_info_{rank.rank}.json").write_text(json.dumps({**rank.info, "rank_id": rank.rank}))
    if rank.metadata:
        (home / "profiler_metadata.json").write_text(json.dumps(rank.metadata))
    events = [
        {"ph": "X", "name": "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "cat": "cpu_op",
         "pid": 1, "tid": 1, "ts": "1700000000000000.000", "dur": rank.loader_us, "args": {}}
    ] if rank.loader_us else []  # fmt: skip
    events += [
        {"ph": "X", "name": "GC", "pid": 2, "tid": 1, "ts": f"{1_700_000_000_000_000 + i * 1000}.000", "dur": spent,
         "args": {}}
        for i, spent in enumerate(rank.gc_us)
    ]  # fmt: skip
    if events:
        (inside / "trace_view.json").write_text(json.dumps(events))


def write(ranks: list[RankFiles], folder: Path) -> Path:
    """Write all ranks of a run."""
    for rank in ranks:
        save(rank, folder)
    return folder


def duplicate(ranks: list[RankFiles]) -> list[RankFiles]:
    """A copy to alter."""
    return [
        replace(
            rank, rows=[dict(row) for row in rank.rows], start=rank.start.copy(), duration=rank.duration.copy(),
            communication=copy.deepcopy(rank.communication), matrix=copy.deepcopy(rank.matrix),
            apis=[dict(row) for row in rank.apis], gc_us=list(rank.gc_us), memory=list(rank.memory),
        )
        for rank in ranks
    ]  # fmt: skip
