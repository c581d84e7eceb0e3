"""Kernel spaces that others timed exhaustively, and how well a run over one did."""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import spearman
from kg.nouns.entities import Better, Case, Objective, Status
from kg.nouns.values import Settings
from kg.triples.names import Names
from recommender.space.parameters import Parameter, ParameterKind
from recommender.space.space import SearchSpace

CAP = 100
"""Evaluations after which a run has missed."""

OBJECTIVES = (Objective(metric="kernel_time", better=Better.LOWER),)


@dataclass
class Space:
    """One kernel on one device, timed exhaustively.

    Attributes:
        kernel: Operator.
        device: Id in the hardware tree.
        costs: Seconds by configuration; inf for failures.
    """

    kernel: str
    task: str
    device: str
    costs: dict[Settings, float] = field(default_factory=dict)
    values: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    @cached_property
    def space(self) -> SearchSpace:
        def kind(values: tuple[Any, ...]) -> ParameterKind:
            ordered = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
            return ParameterKind.ORDINAL if ordered else ParameterKind.CATEGORICAL

        parameters = tuple(
            Parameter(name=name, kind=kind(values), values=values) for name, values in self.values.items()
        )
        return SearchSpace(parameters=parameters, listed=tuple(self.costs))

    @cached_property
    def sorted(self) -> NDArray[np.float64]:
        found = np.array(list(self.costs.values()))
        return np.sort(np.where(np.isfinite(found), found, found[np.isfinite(found)].max()))

    @property
    def best(self) -> float:
        return float(self.sorted[0])

    @cached_property
    def random(self) -> NDArray[np.float64]:
        """Expected best of t random configurations without replacement, t = 1 to CAP."""
        n = len(self.sorted)
        chance, found = np.ones(n), []
        for t in range(1, CAP + 1):
            # P(the best of t is at least the k-th) = C(n - k, t) / C(n, t), built up factor by factor.
            chance = chance * np.maximum(n - np.arange(n) - t + 1, 0) / (n - t + 1)
            found.append(float((self.sorted * (chance - np.append(chance[1:], 0.0))).sum()))
        return np.array(found)

    @cached_property
    def cutoff(self) -> int:
        middle = float(np.median(self.sorted))
        share = (middle - self.random) / max(middle - self.best, 1e-300)
        reached = np.flatnonzero(share >= 0.95)
        return int(reached[0]) + 1 if len(reached) else CAP

    def score(self, costs: list[float]) -> float:
        """Performance score of a run; failures count as the worst of the space."""
        found = np.array([c if math.isfinite(c) else self.sorted[-1] for c in costs])
        reached = np.minimum.accumulate(found)
        reached = np.append(reached, np.full(max(self.cutoff - len(reached), 0), reached[-1]))[: self.cutoff]
        random = self.random[: self.cutoff]
        return float(np.mean((random - reached) / np.maximum(random - self.best, 1e-300)))

    def within(self, costs: list[float], share: float) -> int:
        """Evaluations to within a share of the optimum; CAP for a miss."""
        for t, cost in enumerate(costs[:CAP]):
            if cost <= self.best * (1 + share):
                return t + 1
        return CAP + 1

    def enough(self, costs: list[float]) -> bool:
        """True if more evaluations change no figure."""
        least = min(costs)
        return len(costs) >= CAP or (
            least <= self.best * 1.05 and (least <= self.best or len(costs) >= self.cutoff)
        )


def load(folder: Path, names: Names, files: str = "kerneltuner_*.jsonl*", *, least: int = 500) -> list[Space]:
    """The spaces of a folder.

    Args:
        folder: Where the files of cases are.
        names: Of the hardware tree.
        files: Pattern of their names.
        least: Spaces of which no more configurations ran are left out.
    """
    from ingest.reading import read

    spaces: dict[str, Space] = {}
    for path in sorted(folder.glob(files)):
        for item in read([path], names):
            if not isinstance(item, Case) or item.problem.objective.metric != OBJECTIVES[0].metric:
                continue
            problem = item.problem
            space = spaces.setdefault(
                problem.id, Space(problem.workload.operator, problem.task_id, problem.hardware.name)
            )
            value = item.measurement.value
            ran = item.measurement.status is Status.OK and value is not None
            space.costs[item.configuration] = float(value or 0.0) if ran else math.inf
    return [space for space in spaces.values() if np.isfinite(list(space.costs.values())).sum() > least]


def share_values(spaces: list[Space]) -> None:
    """Give all devices of a task the same parameters; those with one value are no parameters."""
    by_task = defaultdict(list)
    for space in spaces:
        by_task[space.task].append(space)
    for group in by_task.values():
        seen: dict[str, set[Any]] = defaultdict(set[Any])
        for space in group:
            for settings in space.costs:
                for name, value in settings.items():
                    seen[name].add(value)
        for space in group:
            space.values = {
                name: tuple(sorted(values, key=lambda v: (isinstance(v, str), v)))
                for name, values in sorted(seen.items())
            }


def alikeness(a: Space, b: Space) -> float:
    """Correlation of the ranks of the configurations that both ran; 0 of few."""
    common = [s for s, c in a.costs.items() if math.isfinite(c) and math.isfinite(b.costs.get(s, math.inf))]
    return spearman(*([space.costs[s] for s in common] for space in (a, b))) if len(common) >= 100 else 0.0
