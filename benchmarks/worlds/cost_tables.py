"""Measured tables of a folder of cases as log costs, for what learns from how choices carry over."""

import math
from pathlib import Path

from ingest.reading import read
from kg.nouns.entities import Better, Case
from kg.triples.names import Names
from recommender.calibration.similarity_fit import CostTable


def tables(folder: Path, names: Names) -> list[CostTable]:
    """Tables of at least two measured configurations that differ enough to matter."""
    found: dict[str, CostTable] = {}
    for path in sorted(folder.glob("*.jsonl*")):
        for item in read([path], names):
            if not isinstance(item, Case) or not item.measurement.value or item.measurement.value < 0:
                continue
            sign = 1 if item.problem.objective.better is Better.LOWER else -1
            cost = sign * math.log(item.measurement.value)
            table = found.setdefault(item.problem.id, CostTable(path.name.split(".")[0], item.problem, {}))
            table.costs[item.configuration] = min(cost, table.costs.get(item.configuration, math.inf))
    return [table for table in found.values() if len(table.costs) > 1]
