"""The chain of acknowledged batches: each is sealed, written to the graph at once, and then published."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from kg.rows import seals
from kg.triples.finders import batch_records
from kg.triples.serialisation import describe, newest_batch
from kg.triples.snapshots import publish
from kg.triples.tables.descriptions import TextDescriptions
from recommender.store.upkeep.learned import sweep_learned
from recommender.store.upkeep.marks import Marks, note_in_manifest
from recommender.store.versions import sweep_versions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kg.nouns.provenance import Batch
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore, Triple
    from kg.triples.oxigraph_store import OxigraphStore
    from recommender.files import WorkspaceFiles

logger = logging.getLogger(__name__)

PUBLISH_EVERY_S = 5.0
"""How old a published snapshot may be while a writer works (DESIGN.md section 4)."""


class BatchChain:
    """The acknowledged batches of a workspace, in the hands of its one writer.

    What a crash left of an unacknowledged batch is swept from rows, versions and what was learned.

    Attributes:
        newest: Number of the newest acknowledged batch.

    Args:
        layout: Files of the workspace.
        graph: The live graph, which acknowledges.
        trials: Its rows.
        durable: Also wait for the disk after each batch, so that acknowledged survives loss of power.
        was_left: The last writer ended without publishing.

    Raises:
        WorkspaceError: The parts of the workspace contradict each other; nothing was changed.
    """

    def __init__(
        self,
        layout: WorkspaceFiles,
        graph: OxigraphStore,
        trials: TrialStore,
        *,
        durable: bool,
        was_left: bool,
    ) -> None:
        self._layout = layout
        self._graph = graph
        self._trials = trials
        self._durable = durable
        self._published = time.monotonic()
        marks = Marks.read(layout, graph, trials)
        marks.check(layout)
        self.newest = marks.graph
        self._seal = _seal_of(graph, self.newest)
        self._is_ahead = was_left or marks.published != self.newest
        seals.prepare(trials.file)
        seals.acknowledge(trials.file, self.newest)
        self._sweep()

    def resume(self) -> None:
        """Go on after a batch that failed: sweep what it left, as the next writer would.

        The graph is asked anew: the failure may have come just after it acknowledged.
        """
        self.newest = newest_batch(self._graph)
        self._seal = _seal_of(self._graph, self.newest)
        self._sweep()

    def acknowledge(
        self,
        activity: Batch,
        added: Iterable[str],
        removed: list[Triple],
        touched: Iterable[int] = (),
        vectors: str = "",
    ) -> None:
        """Seal a batch and write it to the graph in one step, which acknowledges it.

        Args:
            activity: The batch, without its seal.
            added: What it adds to the graph, in N-Triples.
            removed: What it takes away.
            touched: Keys of the problems that have new rows.
            vectors: Digest of its vectors; empty if it brings none.
        """
        rows = self._trials.file
        seal = seals.digest_of(rows, activity.number, touched).seal(activity.number, self._seal, vectors)
        seals.record(rows, activity.number, seal, vectors)
        texts = TextDescriptions()
        describe(replace(activity, seal=seal), texts)
        self._graph.replace_plain(removed, dict.fromkeys(chain(texts, added)))  # problems share workloads
        if self._durable:
            self._graph.flush()
        self.newest, self._seal = activity.number, seal
        self._is_ahead = True
        seals.acknowledge(rows, activity.number)

    def graph_changed(self) -> None:
        """Take note that the graph says something that readers do not see yet."""
        self._is_ahead = True

    def publish(self) -> None:
        """Let readers see what was acknowledged."""
        if self._is_ahead:
            publish(self._graph, self._layout.graph)
            self._is_ahead = False
        try:
            note_in_manifest(self._layout, self.newest, self._seal)
        except OSError as error:  # the older mark is true too
            logger.warning("%s cannot be written: %s", self._layout.manifest, error.strerror)
        self._published = time.monotonic()

    def publish_if_due(self) -> None:
        """Publish if readers have waited long enough."""
        if time.monotonic() - self._published > PUBLISH_EVERY_S:
            self.publish()

    def _sweep(self) -> None:
        sweep_learned(self._layout, self.newest)
        sweep_versions(self._layout, self.newest)
        if swept := self._trials.sweep(self.newest):
            logger.warning(
                "swept %d rows of batch %d, which was not finished; they lie in the quarantine of %s",
                swept,
                self.newest + 1,
                self._layout.trials.name,
            )


def _seal_of(graph: GraphStore, batch: int) -> str:
    record = batch_records(graph).get(batch)
    return record.seal if record else ""
