"""The vectors of a workspace's problems, kept in step with its graph and made by an encoder that fits it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from embeddings.index import ProblemIndex
from embeddings.vector_log import write_log
from kg.errors import IndexMismatchError, WorkspaceError
from kg.nouns.entities import Problem
from kg.rows import seals
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
        batch: The newest acknowledged batch; vectors of a later one are swept.

    Raises:
        WorkspaceError: There are vectors of batches that the graph has not.
    """

    def __init__(
        self,
        layout: WorkspaceFiles,
        graph: GraphStore,
        trials: TrialStore,
        make_encoder: Callable[[HardwareTree], ProblemEncoder],
        batch: int,
    ) -> None:
        self._layout = layout
        self._graph = graph
        self._trials = trials
        self._make_encoder = make_encoder
        self._open(batch)
        self._check_newest(batch)

    def append(self, problems: Sequence[Problem], batch: int) -> str:
        """Add the vectors of problems that have rows but no vector, and wait until they are on the disk.

        Returns:
            Digest of the vectors of the batch.
        """
        keys = [self._trials.problem_key(problem.id) for problem in problems]
        self._index.append(np.array(keys, np.int64), batch, self.encoder.encode(problems))
        return self._index.digest(batch)

    def reopen(self, batch: int) -> None:
        """Make the encoder again from a graph that has changed; all vectors too where they become others."""
        self._index.close()
        self._open(batch)

    def sweep(self, batch: int) -> None:
        """Remove the vectors that came after a batch."""
        self._index.sweep(batch)

    def repair(self, batch: int) -> None:
        """Make the vectors again if some are missing, and the index if anything in it is wrong."""
        if set(self._trials.keys().tolist()) != set(self._index.keys(batch).tolist()):
            self._index.close()
            self._encode_again(batch)
            self._open(batch)
        if self._index.verify():
            self._index.rebuild(batch)

    def catch_up(self, batch: int) -> None:
        """Let the index take in what waits outside it, where that is much."""
        self._index.catch_up(batch)

    def close(self) -> None:
        """Close the files."""
        self._index.close()

    def _open(self, batch: int) -> None:
        self.encoder = self._make_encoder(HardwareTree(self._graph))
        if batch and not self._layout.vectors.exists():  # damaged ones were put aside
            if self._layout.exists():
                logger.warning("there are no vectors: making all of them again")
            self._encode_again(batch)
        try:
            self._index = self._vectors_on_disk()
        except IndexMismatchError:
            logger.warning("the encoder changed: making all vectors again")
            self._encode_again(batch)
            self._index = self._vectors_on_disk()
        if self._index.newest() > batch + 1:
            ahead = f"vectors of batch {self._index.newest()}, the graph ends with batch {batch}"
            self._index.close()
            raise WorkspaceError(f"{self._layout.vectors} has {ahead}", hint="tunegraph doctor --repair")
        self._index.sweep(batch)

    def _check_newest(self, batch: int) -> None:
        """Refuse vectors that are an older copy: the newest that a seal vouches for are not among them.

        Raises:
            WorkspaceError: They are not.
        """
        sealed = seals.vector_digests(self._trials.file)
        number = max((item for item in sealed if item <= batch), default=0)
        if number > self._index.remade and self._index.digest(number) != sealed[number]:
            self._index.close()
            raise WorkspaceError(
                f"{self._layout.vectors} has not the vectors of batch {number}, or has others",
                hint="nothing was changed; tunegraph doctor --repair makes them again",
            )

    def _vectors_on_disk(self) -> ProblemIndex:
        return ProblemIndex(self._layout.root, self.encoder.dimension, self.encoder.hash)

    def _encode_again(self, batch: int) -> None:
        """Make the vectors of all problems of the graph anew, as after a change of encoder."""
        stored = ((self._trials.problem_key(item.id), item) for item in all_of(self._graph, Problem))
        pairs = [(key, problem) for key, problem in stored if key is not None]
        vectors = self.encoder.encode([problem for _, problem in pairs])
        keys = np.array([key for key, _ in pairs], np.int64)
        order = np.argsort(keys, kind="stable")
        part = (keys[order], batch, vectors[order])
        encoder = self.encoder
        parts = [part] if pairs else []
        write_log(self._layout.vectors, encoder.dimension, encoder.hash, parts, remade=batch)
