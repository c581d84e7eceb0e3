"""The known problems that are nearest to a question, and how near each is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embeddings.encoder import ProblemEncoder
from embeddings.index import Neighbours, ProblemIndex
from kg.nouns.entities import Problem
from kg.rows.trial_rows import ProblemRow
from kg.rows.trials import TrialStore
from kg.terms.phases import same_activity
from kg.triples.hardware_tree import Distance, HardwareTree
from recommender.calibration.similarity import Similarity, pair_row

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
        same_task = self.trials.keys(task_id=problem.task_id).tolist()
        candidates: list[_Candidate] = []
        rows: dict[int, ProblemRow | None] = {}
        for depth in (SEARCHED, SEARCHED * _DEEPER):
            near = self.index.search(vector, depth, self.trials.acknowledged)
            apart = self._weighed(vector, near)
            keys = dict.fromkeys([*same_task, *apart])
            self._read(problem, [key for key in keys if key not in rows], rows, any_operator=any_operator)
            read = (rows[key] for key in keys)
            kept = [row for row in read if row is not None and not (exclude and exclude(row))]
            candidates = self._candidates(problem, kept, apart)
            if any_operator or sum(item.same_count for item in candidates) >= _ENOUGH or len(near) < depth:
                break
        chosen = [self._neighbour(problem, item) for item in _spread(candidates, most)]
        return self._told(problem, vector, near, chosen)

    def _read(
        self, problem: Problem, keys: Sequence[int], rows: dict[int, ProblemRow | None], *, any_operator: bool
    ) -> None:
        """Add to ``rows`` those of more keys; None for problems that a ranking has no use for."""
        rows |= dict.fromkeys(keys)
        work = problem.workload
        found = (
            self.trials.summary(keys)
            if any_operator
            else self.trials.summary(
                keys,
                metric=problem.objective.metric,
                operators=[work.operator, *same_activity(work.kind)],
            )
        )
        rows |= {row.key: row for row in found}

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

    def _candidates(
        self, problem: Problem, rows: Sequence[ProblemRow], apart: Mapping[int, float]
    ) -> list[_Candidate]:
        """The problems with their distances; beyond the searched depth that is the farthest one seen."""
        task_id, problem_id = problem.task_id, problem.id  # computed anew at each access
        near = {row.key: 0.0 if row.id == problem_id else apart.get(row.key) for row in rows}
        farthest = max((item for item in near.values() if item is not None), default=1.0)
        return [
            _Candidate(
                problem=row,
                apart=farthest if (distance := near[row.key]) is None else distance,
                same_task=row.task_id == task_id,
                same_count=row.count == problem.hardware.count,
                device=self.tree.distance(problem.hardware.name, row.hardware)
                if row.task_id == task_id
                else 0,
            )
            for row in rows
        ]

    def _neighbour(self, problem: Problem, item: _Candidate) -> Neighbour:
        return Neighbour(
            problem=item.problem,
            device=self.tree.distance(problem.hardware.name, item.problem.hardware),
            same_task=item.same_task,
            same_count=item.same_count,
            apart=item.apart,
        )


class _Candidate(NamedTuple):
    """A known problem that may be a neighbour; ``device`` is 0 where it is another task.

    A tuple, because there are two thousand of them.
    """

    problem: ProblemRow
    apart: float
    same_task: bool
    same_count: bool
    device: int


def _spread(candidates: Sequence[_Candidate], most: int) -> list[_Candidate]:
    """The first candidates; of those of other tasks no more of one device than others leave."""

    def order(item: _Candidate) -> tuple[object, ...]:
        return not item.same_count, not item.same_task, item.device, item.apart, item.problem.id

    taken: list[_Candidate] = []
    crowded: list[_Candidate] = []
    by_device: dict[str, int] = {}
    for item in sorted(candidates, key=order):
        device = item.problem.measured_on
        number = by_device.get(device, 0)
        if item.same_task or number < _PER_DEVICE:
            taken.append(item)
            by_device[device] = number + (not item.same_task)
            if len(taken) >= most:
                break
        else:
            crowded.append(item)
    return sorted([*taken, *crowded[: most - len(taken)]], key=order)
