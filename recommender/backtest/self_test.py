"""Asks a workspace about its own problems as if their hardware or their task were new, beside the truth.

For each operator and metric one device at a time is hidden, then all but one device of another vendor, then
one task in five; response models are learned anew without what is hidden. Large operators are asked about a
sample.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.nouns.entities import Problem
from kg.nouns.knowledge import Level
from kg.triples.hardware_tree import Distance
from kg.triples.serialisation import from_graph
from recommender.backtest.subset import SubsetRanker
from recommender.calibration.outlook import LISTED
from recommender.ranking.cases.evidence import ConfigurationReader
from recommender.ranking.cases.scoring_against_truth import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from embeddings.encoder import ProblemEncoder
    from kg.nouns.entities import Configuration
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareTree
    from recommender.calibration.outlook import Checked
    from recommender.calibration.similarity import Similarity

TASKS = 400
"""Tasks kept of one operator and metric; of more, a sample that is the same each time."""

ASKED = 40
"""Problems asked of one fold."""

TASK_FOLDS = 5


@dataclass(frozen=True, slots=True)
class Fold:
    """The known problems and the asked problems of one fold.

    Attributes:
        training: Keys of the known problems.
        test: Keys of the asked problems.
        hides_tasks: Whether the asked tasks are hidden wherever they ran.
    """

    training: tuple[int, ...]
    test: tuple[int, ...]
    hides_tasks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """Asks a workspace about itself.

    Attributes:
        graph: Describes the problems.
        trials: What was measured on them.
        tree: Hardware.
        encoder: Makes their vectors.
        similarity: What differences are worth.
    """

    graph: GraphStore
    trials: TrialStore
    tree: HardwareTree
    encoder: ProblemEncoder
    similarity: Similarity

    def run(self, progress: Callable[[str], None] = lambda _: None) -> Iterator[Checked]:
        """Recommendations beside their truth.

        Args:
            progress: Told what is asked about, a line a family.

        Raises:
            MissingDependencyError: scikit-learn is needed and not installed.
        """
        for operator, metric, keys in self.trials.families(at_least=2):
            problems = self._problems(keys)
            all_folds = list(folds(problems, self.tree))
            if all_folds:
                progress(f"{operator} by {metric}: {sum(len(f.test) for f in all_folds)} questions")
            for fold in all_folds:
                yield from self._asked(fold, problems)

    def _problems(self, keys: Sequence[int]) -> dict[int, Problem]:
        rows = self.trials.summary(keys)
        tasks = sorted({row.task_id for row in rows}, key=_chance)[:TASKS]
        kept = set(tasks)
        return {row.key: from_graph(self.graph, Problem, row.id) for row in rows if row.task_id in kept}

    def _asked(self, fold: Fold, problems: dict[int, Problem]) -> Iterator[Checked]:
        hidden = {problems[key].task_id for key in fold.test} if fold.hides_tasks else set()
        visible = {key: problems[key] for key in fold.training if problems[key].task_id not in hidden}
        read = ConfigurationReader(self.trials)
        with SubsetRanker(visible, self.trials, self.tree, self.encoder, self.similarity) as ranker:
            for key in fold.test:
                truth = self._truth(key, read)
                if len(truth) < 2:
                    continue
                item = check(problems[key], ranker.rank(problems[key], LISTED[-1]), truth)
                if item is not None:
                    yield item

    def _truth(self, key: int, read: ConfigurationReader) -> dict[Configuration, float]:
        table = self.trials.table(key)
        configurations = read([int(item) for item in table.configuration_ids])
        costs: dict[Configuration, float] = {}
        for item, cost in zip(table.configuration_ids.tolist(), table.costs.tolist(), strict=True):
            if math.isfinite(cost) and cost > 0:
                configuration = configurations[item]
                costs[configuration] = min(costs.get(configuration, math.inf), math.log(cost))
        least = min(costs.values(), default=0.0)
        return {configuration: cost - least for configuration, cost in costs.items()}


def folds(problems: dict[int, Problem], tree: HardwareTree) -> Iterator[Fold]:
    """Return the folds of one family: what to hide and what to ask.

    Args:
        problems: By key, all of one operator and metric.
        tree: Hardware.
    """
    on: dict[str, list[int]] = defaultdict(list)
    for key, problem in problems.items():
        on[problem.hardware.name].append(key)
    for device, keys in sorted(on.items()):
        questions = _some(keys, problems)
        others = [name for name in on if tree.distance(device, name) is not Distance.SAME_DEVICE]
        related = [name for name in others if tree.distance(device, name) is not Distance.OTHER_VENDOR]
        if related:
            yield Fold(tuple(sorted(key for name in others for key in on[name])), questions)
        for name in others:
            if name not in related and tree.above(name, Level.VENDOR):
                yield Fold(tuple(sorted(on[name])), questions)
    tasks = sorted({problem.task_id for problem in problems.values()}, key=_chance)
    if len(tasks) > 1:
        for part in range(min(TASK_FOLDS, len(tasks))):
            chosen = set(tasks[part::TASK_FOLDS])
            inside = [key for key, problem in problems.items() if problem.task_id in chosen]
            yield Fold(tuple(sorted(problems)), _some(inside, problems), hides_tasks=True)


def _some(keys: Sequence[int], problems: dict[int, Problem]) -> tuple[int, ...]:
    return tuple(sorted(keys, key=lambda key: _chance(problems[key].id))[:ASKED])


def _chance(name: str) -> str:
    """Return a sort key that is as good as random and the same each time."""
    return hashlib.sha256(name.encode()).hexdigest()
