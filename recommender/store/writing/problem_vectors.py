"""The vectors of a workspace's problems, made by an encoder that fits its graph."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from embeddings.index import ProblemIndex
from kg.nouns.entities import Problem
from kg.triples.hardware_tree import HardwareTree
from kg.triples.serialisation import all_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from embeddings.encoder import ProblemEncoder
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from recommender.files import WorkspaceFiles

logger = logging.getLogger(__name__)


class ProblemVectors:
    """The vectors of the problems of a workspace, in the hands of its one writer.

    Attributes:
        encoder: Makes them; it knows the hardware of the graph as it is now.

    Args:
        layout: Files of the workspace.
        graph: Its graph.
        trials: Gives each problem its key.
        make_encoder: Makes the encoder from the hardware tree.
    """

    def __init__(
        self,
        layout: WorkspaceFiles,
        graph: GraphStore,
        trials: TrialStore,
        make_encoder: Callable[[HardwareTree], ProblemEncoder],
    ) -> None:
        self._layout = layout
        self._graph = graph
        self._trials = trials
        self._make_encoder = make_encoder
        self.reopen()

    def append(self, problems: Sequence[Problem], batch: int) -> None:
        """Add the vectors of problems that have rows but no vector, as part of the transaction of a batch."""
        keys = [self._trials.problem_key(problem.id) for problem in problems]
        self._index.table.append(np.array(keys, np.int64), batch, self.encoder.encode(problems))

    def reopen(self) -> None:
        """Make the encoder again from a graph that has changed; all vectors too where they become others."""
        self.encoder = self._make_encoder(HardwareTree(self._graph))
        self._index = ProblemIndex(
            self._trials.file, self._layout.root, self.encoder.dimension, self.encoder.hash
        )
        if len(self._index) != len(self._trials.keys()):
            self._encode_again()

    def repair(self) -> None:
        """Make the vectors again if they are of other problems, and the index if anything in it is wrong."""
        if set(self._trials.keys().tolist()) != set(self._index.keys().tolist()):
            self._encode_again()
        if self._index.verify():
            self._index.rebuild()

    def catch_up(self) -> None:
        """Add the vectors that wait outside the index to it, where they are many."""
        self._index.catch_up()

    def _encode_again(self) -> None:
        """Make the vectors of all problems anew, as after a change of encoder."""
        if len(self._index):
            logger.warning("vectors are missing: making all of them again")
        batches = dict(self._trials.file.read("SELECT key, batch FROM problems"))
        stored = ((self._trials.problem_key(item.id), item) for item in all_of(self._graph, Problem))
        pairs = sorted(
            ((batches[key], key, problem) for key, problem in stored if key is not None),
            key=lambda item: item[:2],
        )
        vectors = self.encoder.encode([problem for _, _, problem in pairs])
        numbers, keys = (np.array([item[at] for item in pairs], np.int64) for at in (0, 1))
        self._index.table.fill(keys, numbers, vectors)
