"""The question's own table: where it was measured itself, its gains are those of its measurements."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean, variance
from typing import TYPE_CHECKING

from kg.nouns.entities import Kind, Status
from kg.nouns.gain import Gain
from recommender.ranking.cases.reference import CURRENT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kg.nouns.entities import Problem
    from kg.rows.trials import TrialStore
    from recommender.ranking.cases.ranker import Ranking

LEAST = 8
"""Timed configurations from which a table's median stands for what one would run without it; a choice."""
MEDIAN = "the median configuration of its own table"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRow:
    """What a table says of one configuration: log cost over its repeats, and the standard error of that."""

    cost: float
    error: float


@dataclass(frozen=True, slots=True)
class _Reading:
    """One row: log cost, and the standard error that it states of itself; None if it states none."""

    cost: float
    error: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTable:
    """The measurements of exactly the asked problem.

    Attributes:
        rows: By digest of the configuration.
        reference: What gains are told against.
        name: What that is, in words.
    """

    rows: Mapping[str, TimedRow]
    reference: TimedRow
    name: str

    def gain(self, digest: str) -> Gain | None:
        """Gain of a configuration with its 90 % interval; None if not measured."""
        row = self.rows.get(digest)
        if row is None:
            return None
        return Gain.around(self.reference.cost - row.cost, math.hypot(row.error, self.reference.error))


def own_table(problem: Problem, ranking: Ranking, trials: TrialStore) -> OwnTable | None:
    """The table of the very problem on the very device; None without one, or where spreads are not known.

    Args:
        problem: The question, with the current configuration if there is one.
        ranking: The answer of the cases.
        trials: Has the rows.
    """
    own = next(
        (
            source.problem
            for source in ranking.evidence.sources
            if source.same_task
            and source.problem.hardware == problem.hardware.name
            and source.problem.metric == problem.objective.metric
            and source.problem.count in {None, problem.hardware.count}
        ),
        None,
    )
    if own is None:
        return None
    readings: dict[str, list[_Reading]] = defaultdict(list)
    current = ""
    for trial in trials.rows(own.id):
        measured = trial.measurement
        if measured.metric != own.metric or measured.status is not Status.OK or not measured.value:
            continue
        if measured.value <= 0 or trial.kind is Kind.MODELLED:
            continue
        stated = measured.stdev and measured.stdev / measured.value / math.sqrt(measured.repeats or 1)
        sign = 1 if own.better == "lower" else -1
        readings[trial.configuration.digest].append(_Reading(sign * math.log(measured.value), stated))
        if problem.current and all(problem.current.get(n) == v for n, v in trial.configuration.items()):
            current = trial.configuration.digest
    rows = _timed(readings)
    if len(rows) < LEAST:
        return None
    ordered = sorted(rows.values(), key=lambda row: row.cost)
    reference = rows[current] if current else ordered[len(ordered) // 2]
    return OwnTable(rows=rows, reference=reference, name=CURRENT if current else MEDIAN)


def _timed(readings: Mapping[str, Sequence[_Reading]]) -> dict[str, TimedRow]:
    """The mean of each configuration's repeats, with the error that they and their spread state.

    The best of several repeats would be told too fast. Rows that state no spread have that between the
    repeats of the table; without any they are left out.
    """
    repeated = [[reading.cost for reading in row] for row in readings.values() if len(row) > 1]
    degrees = sum(len(costs) - 1 for costs in repeated)
    between = sum(variance(costs) * (len(costs) - 1) for costs in repeated) / degrees if degrees else None
    found: dict[str, TimedRow] = {}
    for digest, row in readings.items():
        squares = [between if reading.error is None else reading.error**2 for reading in row]
        known = [square for square in squares if square is not None]
        if len(known) < len(row):
            continue
        single = fmean(known)
        if len(row) > 1 and between is not None:
            single = max(single, between)
        found[digest] = TimedRow(
            cost=fmean(reading.cost for reading in row), error=math.sqrt(single / len(row))
        )
    return found
