"""Source tables for a search: from files of other devices, or from the tables of a workspace."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ingest.reading import read
from kg.errors import InputError
from kg.nouns.entities import Case, Status
from recommender.search.evaluations import SourceTable, cost_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from kg.rows.trials import TrialStore
    from kg.triples.names import Names
    from recommender.retrieval.neighbours import Neighbour

MOST_ROWS = 512
BEST_ROWS = 128
"""Best rows that are taken of a long table, and every so many of the others; choices."""


def thinned(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """At most ``MOST_ROWS`` of rows that stand best first: the best, and of the others every so many."""
    if len(rows) <= MOST_ROWS:
        return rows
    rest = np.linspace(BEST_ROWS, len(rows) - 1, MOST_ROWS - BEST_ROWS).astype(np.int64)
    kept: NDArray[np.int64] = rows[np.concatenate([np.arange(BEST_ROWS), rest])]
    return kept


def sources_of(paths: Iterable[Path], names: Names, *, similarity: float) -> list[SourceTable]:
    """Source tables from files of other devices, one a problem: caches, T4, or any other format that is read.

    Args:
        paths: The files; times of the same kernel.
        names: Of a workspace: ``Workspace.names``.
        similarity: How far they are trusted before anything is timed here, 0 to 1.

    Raises:
        InputError: There is no case in them.
    """
    groups: dict[str, list[Case]] = {}
    for item in read(list(paths), names):
        if isinstance(item, Case) and item.measurement.status is not Status.NOT_MEASURED:
            groups.setdefault(item.problem.id, []).append(item)
    if not groups:
        raise InputError("no case in these files")
    return [
        SourceTable(
            name=f"{cases[0].problem.workload.operator} on {cases[0].problem.hardware.name}",
            similarity=similarity,
            configurations=[case.configuration for case in cases],
            costs=np.array([_cost(case) for case in cases]),
            problem_id=cases[0].problem.id,
        )
        for cases in groups.values()
    ]


def stored_sources(neighbours: Iterable[Neighbour], trials: TrialStore) -> list[SourceTable]:
    """Source tables of the same task on any device from a workspace, one a problem, nearest first.

    Args:
        neighbours: Known problems near what is asked.
        trials: What was measured.
    """
    found = []
    for item in neighbours:
        if not item.same_task:
            continue
        row = item.problem
        table = trials.table(row.key)
        timed = np.flatnonzero(~np.isnan(table.costs))
        keys = [int(key) for key in table.configuration_ids[timed]]
        known = trials.configurations(keys)
        found.append(
            SourceTable(
                name=f"{row.operator} on {row.hardware}",
                similarity=1.0,
                configurations=[known[key] for key in keys],
                costs=table.costs[timed],
                problem_id=row.id,
            )
        )
    return found


def _cost(case: Case) -> float:
    value = case.measurement.value
    if value is None or value <= 0:
        return math.inf
    return math.exp(cost_of(value, case.problem.objective))
