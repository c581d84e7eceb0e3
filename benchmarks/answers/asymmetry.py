"""Whether copying one way costs more than the other way, and whether facts tell which way.

``python -m benchmarks.answers.asymmetry --cases DIR``: for pairs of problems of one operator, the difference of the two
transfer regrets, explained linearly by the differences of device facts, size and number of devices. R2 on pairs of
a collection when learned from the others, and from the other half of its own pairs. Below zero: it tells nothing.
"""

import math
import sys

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.worlds.cost_tables import collections, tables
from benchmarks.worlds.shipped import ShippedKnowledge
from embeddings.encoder import ProblemEncoder
from embeddings.weights import BlockWeights
from kg.nouns.entities import Problem
from kg.triples.hardware_tree import HardwareTree
from recommender.calibration.design import device_row
from recommender.calibration.similarity_fit import draw

LEAST = 50
RIDGE = 10.0
FARTHEST = 8.0
Pairs = tuple["NDArray[np.float64]", "NDArray[np.float64]"]
"""Differences of facts, and of regrets."""


def facts(problem: Problem, tree: HardwareTree) -> NDArray[np.float64]:
    """Facts of the device, size of the task and number of devices, each as a base-2 logarithm."""
    size = sum(math.log2(value) for _, value in problem.workload.shape.numbers() if value > 0)
    row = device_row(tree.facts, problem.hardware.name)
    return np.array([*row, size, math.log2(problem.hardware.count or 1)])


def explained(learn: Pairs, asked: Pairs) -> float | None:
    """R2 of the differences of ``asked`` by what ``learn`` teaches; there is no intercept, so it is odd."""
    (x, y), (x_asked, y_asked) = learn, asked
    if len(y) < LEAST or len(y_asked) < LEAST or not (y_asked**2).sum():
        return None
    weights = np.linalg.solve(x.T @ x + RIDGE * np.eye(x.shape[1]), x.T @ y)
    left = y_asked - x_asked @ weights
    return round(float(1 - (left**2).sum() / (y_asked**2).sum()), 3)


def main() -> None:
    arguments = harness.read(
        __doc__,
        harness.place("--cases", "--known"),
        quick="one sample of pairs instead of two, of the drawn collections alone",
    )
    shipped = ShippedKnowledge.load()
    is_part = arguments.quick and not arguments.all
    drawn = arguments.draw("collection", collections(arguments.cases)) if is_part else None
    known = tables(arguments.cases, shipped.names, drawn)
    encoder = ProblemEncoder(shipped.hardware, None, BlockWeights())
    differences, means, rows, groups = [], [], [], []
    for seed in arguments.seed_range(1 if arguments.quick else 2):
        sample = draw(known, encoder, np.random.default_rng(seed))
        column = {id(problem): place for place, problem in enumerate(sample.sources)}
        at = [column[id(problem)] for problem in sample.targets]
        told = [facts(problem, shipped.hardware) for problem in sample.targets]
        for one, first in enumerate(sample.targets):
            for other, second in enumerate(sample.targets[:one]):
                if first.workload.operator == second.workload.operator:
                    there, back = sample.regrets[one, at[other]], sample.regrets[other, at[one]]
                    differences.append(float(there - back))
                    means.append(float(there + back) / 2)
                    rows.append(np.clip(np.nan_to_num(told[one] - told[other]), -FARTHEST, FARTHEST))
                    groups.append(sample.groups[one])
    x, y, group = np.array(rows), np.array(differences), np.array(groups)
    half = arguments.rng().random(len(y)) < 0.5
    held = arguments.draw("collection", groups) if drawn is None else drawn & set(groups)
    apart = np.isin(group, sorted(held)) & (not arguments.all)
    result = {}
    for name in sorted(held):
        mine = group == name
        others = ~mine & ~apart
        result[str(name)] = {
            "pairs": int(mine.sum()),
            "r2_from_others": explained((x[others], y[others]), (x[mine], y[mine])),
            "r2_from_itself": explained((x[mine & half], y[mine & half]), (x[mine & ~half], y[mine & ~half])),
        }
        print(name, result[str(name)], file=sys.stderr)
    spread = {"half_difference": round(float(y.std() / 2), 3), "mean": round(float(np.std(means)), 3)}
    arguments.last_line({"standard_deviation_nats": spread, "collections": result}, n=len(y))


if __name__ == "__main__":
    main()
