"""Recalibration of similarity and of intervals on a workspace's own cases.

What ships was learned from the public case collections. A workspace's own takes its place only where enough
of its problems could be checked, and similarity only if it did better where it had not learned.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.nouns.codec import JsonNoun
from kg.nouns.entities import Problem
from kg.triples.serialisation import from_graph
from recommender.backtest.self_test import Backtest
from recommender.calibration.outlook import LEAST_CHECKED, LEAST_DEVICES, Outlook
from recommender.calibration.similarity import Similarity
from recommender.calibration.similarity_fit import PROBLEMS, CostTable, fit_similarity
from recommender.ranking.cases.circumstances import CIRCUMSTANCES
from recommender.ranking.cases.evidence import ConfigurationReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from embeddings.encoder import ProblemEncoder
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareTree

_ROWS = 2_000
"""Rows of one problem that are compared; of more, the best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalibration(JsonNoun):
    """The result of a recalibration.

    Attributes:
        similarity: The new one; None if the shipped one stays.
        outlook: The new one; None if the shipped one stays.
        notes: Why something stays, and how the new did where it had not learned.
    """

    similarity: Similarity | None
    outlook: Outlook | None
    notes: tuple[str, ...]

    def contents(self) -> dict[str, bytes]:
        """Return the content of each file that is new, by its name."""
        parts = {"similarity.json": self.similarity, "outlook.json": self.outlook}
        return {
            name: (json.dumps(part.to_json(), indent=1) + "\n").encode()
            for name, part in parts.items()
            if part is not None
        }


def recalibrate(
    graph: GraphStore,
    trials: TrialStore,
    tree: HardwareTree,
    encoder: ProblemEncoder,
    *,
    origin: str,
    progress: Callable[[str], None] = lambda _: None,
) -> Recalibration:
    """Learn from the problems of a workspace; takes minutes where they are many.

    Args:
        graph: Describes the problems.
        trials: What was measured on them.
        tree: Hardware.
        encoder: Makes their vectors.
        origin: What is learned from, in words.
        progress: Told what is being done.

    Raises:
        MissingDependencyError: scikit-learn is needed and not installed.
    """
    notes: list[str] = []
    progress("what differences are worth")
    fit = fit_similarity(_tables(graph, trials), encoder, tree.distance, origin)
    similarity = None
    if fit is None:
        notes.append("similarity stays as shipped: too few problems on too few devices to compare")
    else:
        learned, equal = (sum(f[k] for f in fit.folds) / len(fit.folds) for k in ("fitted", "equal"))
        costs = f"five neighbours cost {learned:.3f} nats on devices left out, {equal:.3f} with equal weights"
        similarity = fit.similarity if fit.helps else None
        notes.append(f"similarity {'learned' if fit.helps else 'stays as shipped'}: {costs}")
    backtest = Backtest(
        graph=graph,
        trials=trials,
        tree=tree,
        encoder=encoder,
        similarity=similarity or Similarity.shipped(),
    )
    checked = list(backtest.run(progress))
    measured = [item for item in checked if math.isfinite(item.truth)]
    devices = {item.device for item in measured}
    outlook = None
    if len(measured) < LEAST_CHECKED or len(devices) < LEAST_DEVICES:
        notes.append(
            f"intervals stay as shipped: {len(measured)} answers on {len(devices)} devices could be checked,"
            f" {LEAST_CHECKED} on {LEAST_DEVICES} are needed"
        )
    else:
        outlook = Outlook.fit(checked, CIRCUMSTANCES, origin)
        notes.append(f"intervals learned from {len(measured)} checked answers on {len(devices)} devices")
    return Recalibration(similarity=similarity, outlook=outlook, notes=tuple(notes))


def _tables(graph: GraphStore, trials: TrialStore) -> Sequence[CostTable]:
    read = ConfigurationReader(trials)
    tables: list[CostTable] = []
    for operator, _, keys in trials.families(at_least=2):
        rows = sorted(trials.summary(keys), key=lambda row: row.task_id)[: 4 * PROBLEMS]
        for row in rows:
            table = trials.table(row.key, _ROWS)
            timed = [
                (int(item), math.log(cost))
                for item, cost in zip(table.configuration_ids.tolist(), table.costs.tolist(), strict=True)
                if math.isfinite(cost) and cost > 0
            ]
            if len(timed) < 2:
                continue
            configurations = read([item for item, _ in timed])
            costs = {configurations[item]: cost for item, cost in reversed(timed)}
            tables.append(CostTable(operator, from_graph(graph, Problem, row.id), costs))
    return tables
