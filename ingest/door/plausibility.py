"""Times and rates that no hardware reaches: most often a table whose unit is not what it says.

The least work of a workload is compared with the peaks of its hardware. A table in seconds that is
labelled ms is a thousand times too fast; a cache or a peak that is known too low is not. Doubtful values are
kept as they are, marked in the source's note, all of a table alike, and listed in the file's guesses.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeAlias, TypeGuard, TypeVar

from ingest.door.records import Records
from kg.nouns.entities import LEAST_TIMED, NO_RUN, Better, Case, Kind, Problem, Source

T = TypeVar("T")

Facts: TypeAlias = Callable[[str], Mapping[str, float | str]]
"""Facts of hardware by its id (``kg.triples.hardware_tree.HardwareTree.facts``)."""

LOOKED_AT = 4096
"""Rows of a file that are held back, so that its first rows are marked too."""

BANDWIDTH_MARGIN = 10.0
"""Times above the memory's peak before a time is doubted. Data may stay in a cache, which is faster than the
memory by less; a wrong unit is off by a thousand, of which a bound of least work may hide a hundred."""
COMPUTE_MARGIN = 2.0
"""Times above the fastest peak before a time is doubted: higher clocks, structured sparsity."""

LONE = 0.6
"""Share of a table's whole range, in logarithms, between its best value and the next above which the best is
doubted: the critical value of Dixon's test for eight values at 99 % is .590 (Rorabacher, 1991, table 1)."""
_CACHED = 16_384
_WIDTHS = {"float64": 8, "float32": 4, "tf32": 4, "int32": 4, "bfloat16": 2, "float16": 2, "int16": 2}
_TRAINING_FLOPS = 6
"""Operations per parameter and token in training: 2 forward, 4 backward (Kaplan et al., 2020)."""


@dataclass(slots=True, kw_only=True)
class _Bound:
    """The best value that the hardware of a problem allows.

    Attributes:
        limit: Shortest time in seconds, or highest rate, that is believed.
        is_time: The limit is a time.
        why: The peak it follows from, in words.
        doubted: A value beyond it was met.
        worst: How far beyond, as a factor of the hardware's peak.
    """

    limit: float
    is_time: bool
    why: str
    margin: float
    doubted: bool = False
    worst: float = 1.0


@dataclass(slots=True)
class _Table:
    """The ends of the values of one problem, as costs: times, or rates turned over."""

    problem: Problem
    rows: int = 0
    best: float = math.inf
    next: float = math.inf
    worst: float = 0.0
    chosen: Mapping[str, object] = field(default_factory=dict)

    def add(self, cost: float, configuration: Mapping[str, object]) -> None:
        """Count a value; one that is an end already is not counted again."""
        if cost < self.best:
            self.chosen = configuration
        if cost > self.next:
            self.rows += cost != self.worst
            self.worst = max(self.worst, cost)
        elif cost not in (self.best, self.next):
            self.rows += 1
            self.next = max(self.best, cost)
            self.best, self.worst = min(self.best, cost), max(self.worst, cost)

    @property
    def is_lone(self) -> bool:
        """True if the best value stands apart from all others."""
        return self.rows >= LEAST_TIMED and self.next / self.best > (self.worst / self.best) ** LONE

    def __str__(self) -> str:
        work = self.problem.workload
        counts = (
            "it ranks nothing until measured again" if self.next > NO_RUN * self.best else "measure it again"
        )
        return (
            f"{work.operator} on {self.problem.hardware.name}: the best of {self.rows} values of "
            f"{self.problem.objective.metric} is {self.next / self.best:.2f} times better than the "
            f"next, far more than all others differ: perhaps no whole run; {counts}"
        )


def mark_implausible(rows: Iterable[T], facts: Facts, records: Records) -> Iterator[T]:
    """The rows of a file, with a mark on cases that exceed the peaks of their hardware.

    Args:
        rows: Rows of a reader.
        facts: Facts of hardware by its id.
        records: Takes the warnings.
    """
    judge = _Judge(facts)
    rows = iter(rows)
    first = list(islice(rows, LOOKED_AT))
    for row in first:
        judge.see(row)
    for row in first:
        yield judge.mark(row)
    first.clear()
    for row in rows:
        judge.see(row)
        yield judge.mark(row)
    for warning in judge.warnings.values():
        records.guess(warning)
    for lone in judge.lone():
        records.guess(lone)


class _Judge:
    """The bounds of the problems of a file, and the values that exceed them."""

    def __init__(self, facts: Facts) -> None:
        self.warnings: dict[str, str] = {}
        self._facts = facts
        self._known: dict[int, tuple[_Bound | None, _Table]] = {}
        self._lone: list[_Table] = []
        self._sources: dict[tuple[int, str], tuple[Source, Source]] = {}

    def lone(self) -> list[str]:
        """Descriptions of the tables whose best value stands apart.

        A configuration that stands apart in several tables is better by design: a broken run is one table's.
        """
        found = self._lone_tables()
        often = Counter(str(sorted(table.chosen.items())) for table in found)
        return [str(table) for table in found if often[str(sorted(table.chosen.items()))] == 1]

    def _lone_tables(self) -> list[_Table]:
        return self._lone + [table for _, table in self._known.values() if table.is_lone]

    def see(self, row: object) -> None:
        """Mark the problem of a case as doubtful if its value is beyond its bound."""
        if not isinstance(row, Case) or row.measurement.value is None or row.kind is Kind.MODELLED:
            return
        value = row.measurement.value
        objective = row.problem.objective
        bound, table = self._judged(row.problem)
        if value > 0 and row.measurement.metric == objective.metric:
            cost = value if objective.better is Better.LOWER else 1 / value
            table.add(cost, row.configuration)
        if bound is None:
            return
        beyond = bound.limit / value if bound.is_time else value / bound.limit
        if beyond > 1 and beyond * bound.margin > bound.worst:
            bound.doubted, bound.worst = True, beyond * bound.margin
            work = row.problem.workload
            symbol = row.measurement.reported_unit or row.measurement.unit or "1"
            self.warnings[row.problem.id] = (
                f"{work.operator} on {row.problem.hardware.name}: {row.measurement.metric} in {symbol!r} is "
                f"{bound.worst:.0f} times beyond {bound.why}; the unit is in doubt, the rows are kept, marked"
            )

    def mark(self, row: T) -> T:
        """The case with a note in its source if its problem is doubted."""
        if not isinstance(row, Case):
            return row
        bound, _ = self._known.get(id(row.problem), (None, None))
        if bound is None or not bound.doubted or row.measurement.value is None:
            return row
        note = f"unit in doubt: beyond {bound.why}"
        key = id(row.source), note
        if key not in self._sources:
            if len(self._sources) >= _CACHED:
                self._sources.clear()
            words = f"{row.source.note}; {note}" if row.source.note else note
            self._sources[key] = row.source, replace(row.source, note=words)
        return replace(row, source=self._sources[key][1])

    def _judged(self, problem: Problem) -> tuple[_Bound | None, _Table]:
        key = id(problem)
        if key not in self._known:
            if len(self._known) >= _CACHED:
                self._lone = self._lone_tables()
                self._known.clear()
            bound = _bound(problem, self._facts(problem.hardware.name))
            self._known[key] = bound, _Table(problem)  # which keeps it, so that its identity is its own
        return self._known[key]


def _bound(problem: Problem, facts: Mapping[str, float | str]) -> _Bound | None:
    metric = problem.objective.metric
    count = problem.hardware.count or 1
    peak = _fastest(facts)
    if metric == "throughput":
        return _training_bound(problem, peak, count)
    if metric not in {"kernel_time", "latency"}:
        return None
    moved, operations = _least_work(problem)
    bandwidth = facts.get("memory_bandwidth_bytes_per_s")
    bounds = []
    if moved and isinstance(bandwidth, int | float) and bandwidth > 0:
        bounds.append(
            (moved / (bandwidth * count), BANDWIDTH_MARGIN, f"the {bandwidth / 1e9:.0f} GB/s of memory")
        )
    if operations and peak:
        bounds.append((operations / (peak * count), COMPUTE_MARGIN, f"the peak of {peak / 1e12:.0f} TFLOP/s"))
    if not bounds:
        return None
    shortest, margin, why = max(bounds, key=lambda bound: bound[0] / bound[1])
    return _Bound(limit=shortest / margin, is_time=True, why=why, margin=margin)


def _training_bound(problem: Problem, peak: float, count: int) -> _Bound | None:
    parameters = problem.workload.shape.get("params")
    rate = problem.objective.unit or ""
    if not peak or not isinstance(parameters, int | float) or parameters <= 0:
        return None
    if problem.workload.kind != "training" or not rate.startswith("tokens/s"):
        return None
    devices = 1 if rate.endswith("/device") else count
    highest = peak * devices / (_TRAINING_FLOPS * parameters)
    why = f"the peak of {peak / 1e12:.0f} TFLOP/s"
    return _Bound(limit=highest * COMPUTE_MARGIN, is_time=False, why=why, margin=COMPUTE_MARGIN)


def _fastest(facts: Mapping[str, float | str]) -> float:
    """The highest peak of any number format, in operations per second; 0 if none is known."""
    peaks = [
        float(value)
        for name, value in facts.items()
        if name.startswith("peak_") and name.endswith(("_flops", "_ops")) and isinstance(value, int | float)
    ]
    return max(peaks, default=0.0)


def _least_work(problem: Problem) -> tuple[float, float]:
    """Bytes that have to be moved and operations that have to be done, at the least; 0 where not known."""
    work = problem.workload
    width = _WIDTHS.get(work.precision or "", 1)
    size = work.shape.get("problem_size")
    sizes = [item for item in (size if isinstance(size, tuple) else (size,)) if _is_size(item)]
    match work.operator:
        case "pnpoly" if sizes:  # two coordinates of 4 bytes in, a flag of 4 bytes out
            return 12.0 * sizes[0], 0.0
        case "convolution" | "convolution_milo" if len(sizes) == 2:  # each pixel read and written once
            return 2.0 * width * math.prod(sizes), 0.0
    m, n, k = (work.shape.get(name) for name in ("M", "N", "K"))
    if work.operator in {"gemm", "matmul", "mm"} and _is_size(m) and _is_size(n) and _is_size(k):
        return width * (m * k + k * n + m * n), 2.0 * m * n * k
    return 0.0, 0.0


def _is_size(item: object) -> TypeGuard[float]:
    return isinstance(item, int | float) and not isinstance(item, bool) and item > 0
