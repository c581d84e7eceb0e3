"""Measured tables of a folder of cases as log costs, for what learns from how choices carry over."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from ingest.reading import read
from kg.nouns.entities import Better, Case, Configuration, Problem
from kg.triples.names import Names


@dataclass(frozen=True, slots=True)
class CostTable:
    """A problem and the log costs of its configurations.

    Attributes:
        group: What it counts with: its operator or collection.
        problem: What it is.
        costs: Natural log of the cost of each configuration, lower is better.
    """

    group: str
    problem: Problem
    costs: dict[Configuration, float]

    @property
    def spread(self) -> float:
        """Log ratio of worst to best."""
        return max(self.costs.values()) - min(self.costs.values())


def collections(folder: Path) -> dict[str, Path]:
    """The files of cases by the name of their collection."""
    return {path.name.split(".")[0]: path for path in sorted(folder.glob("*.jsonl*"))}


def tables(folder: Path, names: Names, only: Collection[str] | None = None) -> list[CostTable]:
    """Tables of at least two measured configurations that differ enough to matter.

    Args:
        folder: Of cases.
        names: Of devices and models.
        only: Collections that are read; None reads all.
    """
    found: dict[str, CostTable] = {}
    for group, path in collections(folder).items():
        if only is not None and group not in only:
            continue
        for item in read([path], names):
            if not isinstance(item, Case) or not item.measurement.value or item.measurement.value < 0:
                continue
            sign = 1 if item.problem.objective.better is Better.LOWER else -1
            cost = sign * math.log(item.measurement.value)
            table = found.setdefault(item.problem.id, CostTable(group, item.problem, {}))
            table.costs[item.configuration] = min(cost, table.costs.get(item.configuration, math.inf))
    return [table for table in found.values() if len(table.costs) > 1]
