"""Learning from a workspace's own cases: the response of each operator's cost to a configuration.

Training needs scikit-learn and is done after an ingest; answering needs numpy alone.
"""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING

from kg.errors import MissingDependencyError
from kg.nouns.entities import Problem
from kg.triples.serialisation import from_graph
from recommender.calibration.response import LEARNED_FROM, ResponseModels, fit, sample_order

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareTree

logger = logging.getLogger(__name__)

INSTALL_HINT = "pip install 'tunegraph[learn]'"


def learn(graph: GraphStore, trials: TrialStore, tree: HardwareTree, folder: Path) -> list[str]:
    """Train a model for each operator with enough timed rows, and keep them in ``folder``.

    Args:
        graph: Describes the problems.
        trials: What was measured on them.
        tree: Facts of hardware.
        folder: Where the models go: plain arrays and a JSON header.

    Returns:
        The operators learned.

    Raises:
        MissingDependencyError: scikit-learn is not installed.
    """
    if find_spec("sklearn") is None:
        raise MissingDependencyError("learning needs scikit-learn", hint=INSTALL_HINT)
    models = ResponseModels()
    for operator, metric, keys in trials.families(at_least=LEARNED_FROM):

        def problems(wanted: list[int] = keys) -> Iterator[tuple[Problem, int]]:
            for row in sorted(trials.summary(wanted), key=lambda row: sample_order(row.id)):
                yield from_graph(graph, Problem, row.id), row.key

        model = fit(problems(), trials, tree.facts)
        if model is not None:
            models.models[operator, metric] = model
            logger.info("learned %s by %s from %d rows", operator, metric, model.rows)
    models.save(folder)
    return sorted(operator for operator, _ in models.models)
