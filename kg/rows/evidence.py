"""Amounts of evidence in a trial store: by operator and device, and where strategies were tested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kg.rows.trials import TrialStore

_BY_DEVICE = """
    SELECT operator, hardware, count(*), sum(rows), sum(timed), sum(measured), sum(timed >= 3), min(id)
    FROM (
        SELECT p.operator, p.hardware, p.id, count(*) AS rows, sum(t.rank = 0) AS timed,
               sum(t.rank = 0 AND t.kind = 'measured') AS measured
        FROM problems AS p JOIN trials AS t INDEXED BY best_first
        ON t.problem = p.key AND t.rank IS NOT NULL
        WHERE p.batch <= ?1 AND t.batch <= ?1 GROUP BY p.key
    ) GROUP BY operator, hardware
"""
_BY_KIND = """
    SELECT p.operator, p.hardware, t.kind, count(*)
    FROM problems AS p JOIN trials AS t INDEXED BY best_first ON t.problem = p.key AND t.rank IS NOT NULL
    WHERE p.batch <= ?1 AND t.batch <= ?1 GROUP BY p.operator, p.hardware, t.kind
"""
_WITH_STRATEGIES = """
    SELECT p.id, p.hardware, p.operator, p.model, p.metric FROM problems AS p
    WHERE p.batch <= ?1 AND EXISTS (
        SELECT 1 FROM trials AS t WHERE t.problem = p.key AND t.strategy <> '' AND t.batch <= ?1
    ) ORDER BY p.id
"""


@dataclass(frozen=True, slots=True)
class DeviceEvidence:
    """The rows of one operator on one device, in the metric of each problem.

    Attributes:
        operator: The operator.
        device: Id of the device.
        problems: Problems that have rows.
        rows: All rows.
        timed: Rows with a value.
        measured: Rows that were measured, rather than published, modelled or chosen.
        compared: Problems with at least three rows that have a value.
        example: Id of one of the problems.
    """

    operator: str
    device: str
    problems: int
    rows: int
    timed: int
    measured: int
    compared: int
    example: str


@dataclass(frozen=True, slots=True)
class StrategyProblems:
    """Problems of one device, operator, model and metric on which strategies were tested.

    Attributes:
        hardware: Id of the device.
        problems: Their ids, sorted.
    """

    hardware: str
    problems: tuple[str, ...]


def evidence_by_device(trials: TrialStore) -> Iterator[DeviceEvidence]:
    """Count rows by operator and device; walks over all rows."""
    for row in trials.file.read(_BY_DEVICE, trials.acknowledged):
        yield DeviceEvidence(*row)


def rows_by_kind(trials: TrialStore) -> list[tuple[str, str, str, int]]:
    """Count rows by operator, device and kind of evidence."""
    return [
        (operator, device, kind, number)
        for operator, device, kind, number in trials.file.read(_BY_KIND, trials.acknowledged)
    ]


def problems_with_strategies(trials: TrialStore) -> list[StrategyProblems]:
    """Return the problems that have a row of some strategy, grouped."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for identifier, *shared in trials.file.read(_WITH_STRATEGIES, trials.acknowledged):
        groups.setdefault(tuple(map(str, shared)), []).append(str(identifier))
    return [StrategyProblems(key[0], tuple(problems)) for key, problems in groups.items()]
