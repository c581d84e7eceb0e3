"""Transfer regret between measured problems, and the block weights under which it is least.

Transfer regret is how much slower a problem runs with the best configuration of its nearest neighbours than
with its own best, as a log ratio; half of it for the nearest alone, half for the best of the five nearest. A
configuration that the problem's table lacks counts as the mean of those that share most settings with it.
Neighbours are sought twice: among other devices, and among other tasks. Operators count by the square root of
their number of questions. Weights are drawn at random, the best draws averaged and then improved one weight
at a time, with a small pull towards 1.
"""

from __future__ import annotations

import math
import zlib
from collections import defaultdict
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.worlds.cost_tables import CostTable
from embeddings.weights import BlockWeights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from embeddings.encoder import ProblemEncoder
    from kg.nouns.entities import Configuration, Problem


BLOCKS = tuple(item.name for item in fields(BlockWeights))
TASKS = 40  # tasks drawn of an operator, with all their devices
PROBLEMS = 700  # problems kept of an operator
TARGETS = 80  # asked of an operator
WORST_RATIO = 1.2  # a problem whose worst is within 20 % of its best asks nothing
CAP = 3.0  # a log regret counts at most this much
PULL = 0.01
DRAWS, KEPT, STEPS = 120, 12, 100
STREAM = 100  # first seed of fits with a group left out, another stream than of the samples


@dataclass(frozen=True, slots=True)
class TransferSample:
    """Distances by block and regrets between T targets (rows) and S sources (columns).

    Attributes:
        distances: Squared, before weighting, shape (B, T, S).
        regrets: Log regret of each source's best configuration on the target, shape (T, S).
        forbidden: What each of the two searches may not use, shape (T, S) each.
        groups: Of the targets, shape (T,).
        devices: Of the targets, shape (T,).
        targets: The targets' problems.
        sources: The sources' problems.
        source_groups: What each source counts with, shape (S,).
    """

    distances: NDArray[np.float32]
    regrets: NDArray[np.float32]
    forbidden: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    groups: NDArray[np.str_]
    devices: NDArray[np.str_]
    targets: tuple[Problem, ...]
    sources: tuple[Problem, ...]
    source_groups: NDArray[np.str_]

    def part(self, targets: NDArray[np.bool_], sources: NDArray[np.bool_]) -> TransferSample:
        """Return the sample with some targets and sources alone.

        Args:
            targets: Which targets stay, shape (T,).
            sources: Which sources stay, shape (S,).
        """
        pairs = np.ix_(targets, sources)
        return TransferSample(
            distances=self.distances[:, targets][:, :, sources],
            regrets=self.regrets[pairs],
            forbidden=(self.forbidden[0][pairs], self.forbidden[1][pairs]),
            groups=self.groups[targets],
            devices=self.devices[targets],
            targets=tuple(self.targets[at] for at in np.flatnonzero(targets)),
            sources=tuple(self.sources[at] for at in np.flatnonzero(sources)),
            source_groups=self.source_groups[sources],
        )


def draw(tables: Sequence[CostTable], encoder: ProblemEncoder, rng: np.random.Generator) -> TransferSample:
    """Draw a sample of pairs.

    Args:
        tables: Problems with at least two measured configurations.
        encoder: Makes their blocks.
        rng: Where chance comes from.
    """
    by_group: dict[str, list[CostTable]] = defaultdict(list)
    for table in tables:
        by_group[table.group].append(table)
    pool: list[CostTable] = []
    for members in by_group.values():
        tasks = sorted({table.problem.task_id for table in members})
        chosen = set(rng.choice(tasks, min(TASKS, len(tasks)), replace=False))
        mine = [table for table in members if table.problem.task_id in chosen]
        pool += [mine[at] for at in sorted(rng.permutation(len(mine))[:PROBLEMS])]
    groups = np.array([table.group for table in pool])
    wide = [at for at, table in enumerate(pool) if table.spread >= math.log(WORST_RATIO)]
    targets = np.concatenate(
        [rng.permutation([at for at in wide if groups[at] == name])[:TARGETS] for name in by_group]
    ).astype(int)
    blocks = encoder.blocks([table.problem for table in pool])
    absent = np.zeros((len(pool), 1), np.float32)
    devices = np.array([table.problem.hardware.name for table in pool])
    tasks_of = np.array([table.problem.task_id for table in pool])
    return TransferSample(
        distances=np.stack([_squared(blocks.get(n, absent)[targets], blocks.get(n, absent)) for n in BLOCKS]),
        regrets=np.array([_regrets(pool[at], pool) for at in targets], np.float32).reshape(len(targets), -1),
        forbidden=(devices[targets, None] == devices, tasks_of[targets, None] == tasks_of),
        groups=groups[targets],
        devices=devices[targets],
        targets=tuple(pool[at].problem for at in targets),
        sources=tuple(table.problem for table in pool),
        source_groups=groups,
    )


def _squared(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    squared = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2 * one @ other.T
    return np.asarray(np.maximum(squared, 0), np.float32)


def _regrets(target: CostTable, sources: Sequence[CostTable]) -> list[float]:
    """Return log regret of each source's best configuration on the target."""
    lowest = min(target.costs.values())
    costs: dict[tuple[str, Configuration], float] = {}
    out = []
    for source in sources:
        best = min(source.costs, key=source.costs.__getitem__)
        key = source.group, best
        if key not in costs:
            costs[key] = min(CAP, _expected(best, target, same=source.group == target.group) - lowest)
        out.append(costs[key])
    return out


def _expected(best: Configuration, target: CostTable, *, same: bool) -> float:
    """Return the log cost of copying ``best`` on the target; the mean of all if nothing can be copied."""
    if best in target.costs:
        return target.costs[best]
    wanted = set(best.items()) if same else set()
    shared: dict[int, list[float]] = defaultdict(list)
    for configuration, cost in target.costs.items():
        shared[len(wanted & set(configuration.items()))].append(cost)
    nearest = shared[max(shared)]
    return sum(nearest) / len(nearest)


def transfer_regret(weights: NDArray[np.float64], sample: TransferSample) -> tuple[NDArray[np.float64], ...]:
    """Return log regret of each target by the nearest, and by the best of five, mean of two searches."""
    distances = np.tensordot(weights.astype(np.float32) ** 2, sample.distances, 1)
    first, best = [], []
    for forbidden in sample.forbidden:
        allowed = np.where(forbidden, np.float32(1e9), distances)
        five = np.argpartition(allowed, 5, axis=1)[:, :5]
        order = np.argsort(np.take_along_axis(allowed, five, axis=1), axis=1, kind="stable")
        nearest = np.take_along_axis(sample.regrets, np.take_along_axis(five, order, axis=1), axis=1)
        first.append(nearest[:, 0])
        best.append(nearest.min(axis=1))
    return np.mean(first, axis=0), np.mean(best, axis=0)


def least_regret(sample: TransferSample) -> NDArray[np.float64]:
    """Return log regret of each target by the best of all sources, which no choice can avoid."""
    parts = [
        np.where(forbidden, np.float32(CAP), sample.regrets).min(axis=1) for forbidden in sample.forbidden
    ]
    return np.asarray(np.mean(parts, axis=0), np.float64)


def mean_over_groups(values: NDArray[np.float64], sample: TransferSample, chosen: NDArray[np.bool_]) -> float:
    """Average over the chosen targets; a group counts as the square root of its size."""
    total = weight = 0.0
    for group in np.unique(sample.groups[chosen]):
        mine = chosen & (sample.groups == group)
        total += math.sqrt(mine.sum()) * float(values[mine].mean())
        weight += math.sqrt(mine.sum())
    return total / weight


def halves(sample: TransferSample) -> NDArray[np.bool_]:
    """Return which targets are on the first half of the devices, shape (T,)."""
    return np.array([zlib.crc32(name.encode()) % 2 == 0 for name in sample.devices], np.bool_)


def fit_weights(
    sample: TransferSample, chosen: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Fit the natural logs of the weights that do best on the chosen targets, shape (B,)."""
    asked = sample.part(chosen, np.ones(len(sample.sources), np.bool_))
    everyone = np.ones(len(asked.targets), np.bool_)

    def loss(logs: NDArray[np.float64]) -> float:
        first, best = transfer_regret(np.exp(logs), asked)
        both = 0.5 * first + 0.5 * best
        return mean_over_groups(both, asked, everyone) + PULL * float(np.mean(logs**2))

    draws = sorted((loss(logs), at, logs) for at, logs in enumerate(rng.normal(0, 1, (DRAWS, len(BLOCKS)))))
    best = np.mean([logs for _, _, logs in draws[:KEPT]], axis=0)
    lowest = loss(best)
    for _ in range(STEPS):
        step = best.copy()
        step[rng.integers(len(BLOCKS))] += rng.normal(0, 0.6)
        if (reached := loss(step)) < lowest:
            best, lowest = step, reached
    return np.asarray(best, np.float64)


def fit_without(
    samples: Sequence[TransferSample],
    targets: Callable[[TransferSample], NDArray[np.bool_]],
    sources: Callable[[TransferSample], NDArray[np.bool_]],
) -> BlockWeights:
    """Learn block weights as :mod:`tools.fitting.fit_block_weights` does, with a group left out of both sides of each pair.

    Args:
        samples: One a seed.
        targets: Which targets of a sample stay.
        sources: Which of its sources stay.
    """
    fitted = []
    for seed, whole in enumerate(samples):
        sample, rng = whole.part(targets(whole), sources(whole)), np.random.default_rng(STREAM + seed)
        half = halves(sample)
        fitted += [fit_weights(sample, chosen, rng) for chosen in (half, ~half)]
    return mean_weights(fitted)


def mean_weights(fitted: Sequence[NDArray[np.float64]]) -> BlockWeights:
    """Return the geometric mean of some fits, given as logs, scaled to a geometric mean of 1 over blocks."""
    logs = np.mean(fitted, axis=0)
    weights = np.exp(logs - logs.mean())
    return BlockWeights(**{n: round(float(w), 3) for n, w in zip(BLOCKS, weights, strict=True)})
