"""Learned models, kept beside the graph so that the batch which acknowledges them makes them valid at once.

A batch that learns writes a folder of its own number before the graph acknowledges it. Readers take
the newest folder up to the batch they see; the next writer removes folders of a batch that never was.
So a crash leaves what was before or what comes after.
"""

import logging
import shutil
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from kg.errors import MissingDependencyError, WorkspaceError
from kg.nouns.entities import Problem
from kg.rows.trials import TrialStore
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.serialisation import from_graph
from recommender.calibration.response import LEARNED_FROM, ResponseModels, fit, sample_order
from recommender.files import WorkspaceFiles, write_folder

logger = logging.getLogger(__name__)

INSTALL_HINT = "in a clone: pip install '.[learn]'"


def keep_learned(layout: WorkspaceFiles, batch: int, contents: Mapping[str, bytes]) -> None:
    """Write what holds from a batch on, all of it; the batch is about to be acknowledged.

    Args:
        layout: The workspace.
        batch: Number of the batch.
        contents: Content of each file by its name.

    Raises:
        WorkspaceError: It cannot be written.
    """
    try:
        write_folder(layout.generations / str(batch), contents)
    except OSError as error:
        raise WorkspaceError(
            f"{layout.generations} cannot be written: {error.strerror or error}", hint="make room on the disk"
        ) from None


def sweep_learned(layout: WorkspaceFiles, batch: int) -> None:
    """Remove what was learned with batches after the newest acknowledged one; only the writer may."""
    if not layout.generations.is_dir():
        return
    for folder in layout.generations.iterdir():
        if not folder.name.isdecimal() or int(folder.name) > batch:
            shutil.rmtree(folder, ignore_errors=True)


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
