"""The known problems that are nearest to a question, and how near each is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from kg.terms.phases import same_activity
from recommender.calibration.similarity import Similarity, pair_row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from embeddings.encoder import ProblemEncoder
    from embeddings.index import Neighbours, ProblemIndex
    from kg.nouns.entities import Problem
    from kg.rows.trial_rows import ProblemRow
    from kg.rows.trials import TrialStore
    from kg.triples.hardware_tree import Distance, HardwareTree

MOST = 32
"""Sources that a ranking reads."""

SEARCHED = 256
"""Nearest problems looked at before operator and metric are compared."""

_ENOUGH = 16
_DEEPER = 8
"""Where fewer than enough neighbours have the operator and the number of devices, so many times as many are
looked at."""

TAKEN_APART = 10
"""Nearest neighbours whose distance is told by block."""

_TELLING = 0.005
"""Share of the squared distance below which a block is not worth telling."""

_PER_DEVICE = 12
"""Sources of another task taken from one device and its copies, as long as other devices have any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A known problem beside the one asked about.

    Attributes:
        problem: What the trial store knows of it.
        device: How far its hardware is.
        same_task: It is the same task, on whatever hardware.
        same_count: It has as many devices.
        apart: Distance in the weighted feature space; 0 for the same task on the same device.
        differs: Share of each block of features in the squared distance, the largest first; empty if the
            distance is 0 or was not taken apart.
        cost: Log regret that copying from such a distance had on average.
    """

    problem: ProblemRow
    device: Distance
    same_task: bool
    same_count: bool
    apart: float
    differs: Mapping[str, float] = field(default_factory=dict)
    cost: float | None = None

    def to_json(self) -> dict[str, object]:
        """Return the content as JSON-ready values."""
        return {
            "problem": self.problem.id,
            "hardware": self.problem.hardware,
            "count": self.problem.count,
            "operator": self.problem.operator,
            "model": self.problem.model,
            "distance_class": self.device.name.lower(),
            "same_task": self.same_task,
            "distance": round(self.apart, 4),
            "differs_in": {name: round(share, 3) for name, share in self.differs.items()},
            "cost_of_copying_log": None if self.cost is None else round(self.cost, 4),
        }


@dataclass(frozen=True, slots=True)
class Retriever:
    """Finds neighbours in a workspace.

    Attributes:
        trials: Knows the problems by task.
        index: Knows them by vector.
        encoder: Makes the vector of a question.
        tree: Knows how far hardware is apart.
        similarity: What differences are worth.
    """

    trials: TrialStore
    index: ProblemIndex
    encoder: ProblemEncoder
    tree: HardwareTree
    similarity: Similarity = field(default_factory=Similarity.shipped)

    def find(
        self,
        problem: Problem,
        *,
        most: int = MOST,
        exclude: Callable[[ProblemRow], bool] | None = None,
        any_operator: bool = False,
    ) -> list[Neighbour]:
        """Find known problems of the same operator and metric, the most informative first.

        First the same task, nearest hardware first; then other tasks by distance, no device crowding
        out the others.

        Args:
            problem: The question.
            most: How many at most.
            exclude: Problems that must not answer; for backtests.
            any_operator: Also other operators and metrics, to browse; rankings do not use those.
        """
        vector = self.encoder.query(problem)
        neighbours: list[Neighbour] = []
        for depth in (SEARCHED, SEARCHED * _DEEPER):
            near = self.index.search(vector, depth, self.trials.acknowledged)
            neighbours = self._kept(problem, self._weighed(vector, near), exclude, any_operator=any_operator)
            if any_operator or sum(item.same_count for item in neighbours) >= _ENOUGH or len(near) < depth:
                break
        return self._told(problem, vector, near, _spread(_filled(neighbours), most))

    def _weighed(self, vector: NDArray[np.float32], near: Neighbours) -> dict[int, float]:
        """Return distances by problem key, by the weights of :attr:`similarity`."""
        if self.similarity.weights == self.encoder.weights:
            return dict(zip(near.keys.tolist(), near.distances.tolist(), strict=True))
        squared = self._by_block(vector, near.rows) @ self.similarity.scales(self.encoder.weights)
        return dict(zip(near.keys.tolist(), np.sqrt(squared).tolist(), strict=True))

    def _by_block(self, vector: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return squared differences by encoded block, shape (n, B); other blocks have none."""
        difference = self.index.vectors(rows) - vector
        parts = np.add.reduceat(difference.astype(np.float64) ** 2, self.encoder.starts, axis=1)
        lacking = len(self.encoder.weights.as_dict()) - parts.shape[1]
        return np.pad(parts, ((0, 0), (0, lacking)))

    def _told(
        self, problem: Problem, vector: NDArray[np.float32], near: Neighbours, chosen: list[Neighbour]
    ) -> list[Neighbour]:
        """Return neighbours with the parts of their distance and the cost of copying over it."""
        if not chosen:
            return chosen
        costs = self.similarity.cost.expect(
            np.stack([pair_row(i.apart, i.device, same_task=i.same_task) for i in chosen])
        )
        row_of = dict(zip(near.keys.tolist(), near.rows.tolist(), strict=True))
        parted = [
            place for place, item in enumerate(chosen) if item.apart > 0 and item.problem.key in row_of
        ][:TAKEN_APART]
        rows = np.array([row_of[chosen[place].problem.key] for place in parted], np.int64)
        shares: dict[int, dict[str, float]] = {}
        if parted:
            parts = self._by_block(vector, rows) * self.similarity.scales(self.encoder.weights)
            names = list(self.encoder.weights.as_dict())
            for place, squared in zip(
                parted, parts / np.maximum(parts.sum(axis=1), 1e-12)[:, None], strict=True
            ):
                order = np.argsort(-squared, kind="stable").tolist()
                shares[place] = {names[at]: float(squared[at]) for at in order if squared[at] > _TELLING}
        return [
            replace(
                item,
                differs=shares.get(place, {}),
                cost=float(cost) if item.problem.operator == problem.workload.operator else None,
            )
            for place, (item, cost) in enumerate(zip(chosen, costs, strict=True))
        ]

    def _kept(
        self,
        problem: Problem,
        apart: Mapping[int, float],
        exclude: Callable[[ProblemRow], bool] | None,
        *,
        any_operator: bool,
    ) -> list[Neighbour]:
        task_id, problem_id = problem.task_id, problem.id  # computed anew at each access
        wanted = self.trials.keys(task_id=task_id)
        keys = dict.fromkeys([*wanted.tolist(), *apart])
        rows = [row for row in self.trials.summary(keys) if exclude is None or not exclude(row)]
        if not any_operator:
            comparable = [row for row in rows if row.metric == problem.objective.metric]
            names = {problem.workload.operator, *same_activity(problem.workload.kind)}
            rows = [row for row in comparable if row.operator in names]
        return [
            Neighbour(
                problem=row,
                device=self.tree.distance(problem.hardware.name, row.hardware),
                same_task=row.task_id == task_id,
                same_count=row.count == problem.hardware.count,
                apart=0.0 if row.id == problem_id else float(apart.get(row.key, np.nan)),
            )
            for row in rows
        ]


def _filled(neighbours: list[Neighbour]) -> list[Neighbour]:
    """Give problems of the same task beyond the searched depth the farthest distance seen."""
    seen = [item.apart for item in neighbours if not np.isnan(item.apart)]
    farthest = max(seen, default=1.0)
    return [replace(item, apart=farthest) if np.isnan(item.apart) else item for item in neighbours]


def _spread(neighbours: list[Neighbour], most: int) -> list[Neighbour]:
    def order(item: Neighbour) -> tuple[object, ...]:
        return (
            not item.same_count,
            not item.same_task,
            item.device if item.same_task else 0,
            item.apart,
            item.problem.id,
        )

    taken: list[Neighbour] = []
    crowded: list[Neighbour] = []
    by_device: dict[str, int] = {}
    for item in sorted(neighbours, key=order):
        device = item.problem.measured_on
        number = by_device.get(device, 0)
        if item.same_task or number < _PER_DEVICE:
            taken.append(item)
            by_device[device] = number + (not item.same_task)
        else:
            crowded.append(item)
    return sorted([*taken, *crowded[: max(0, most - len(taken))]][:most], key=order)
