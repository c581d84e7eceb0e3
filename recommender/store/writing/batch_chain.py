"""The chain of acknowledged batches: each is one transaction, from which the graph is then caught up."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO

from kg.errors import InputError, WorkspaceError
from kg.nouns.provenance import Batch
from kg.rows import batches
from kg.rows.batches import GraphChange, change_of
from kg.rows.trials import TrialStore
from kg.rows.trials_file import TrialsFile
from kg.triples.finders import completion_marks, users_of
from kg.triples.graph import GraphStore, Triple
from kg.triples.iris import batch_iri
from kg.triples.knowledge_content import read_lines
from kg.triples.nodes import contains
from kg.triples.serialisation import describe
from kg.triples.snapshots import publish
from kg.triples.tables.descriptions import TextDescriptions, plain
from recommender.files import WorkspaceFiles
from recommender.store.graph_cache import catch_up, graph_mismatch
from recommender.store.upkeep.learned import sweep_learned
from recommender.store.versions import sweep_versions

PUBLISH_EVERY_S = 5.0
"""Oldest age of a published snapshot while a writer works (docs/workspaces.md)."""


class BatchChain:
    """The acknowledged batches of a workspace, in the hands of its one writer.

    What an interrupted writer left out of the graph is put in; versions and what was learned of a batch that
    never was are removed.

    Attributes:
        newest: Number of the newest acknowledged batch.

    Args:
        layout: Files of the workspace.
        graph: The live graph, made from the batches.
        trials: Has the rows and the batches.
        published: Newest batch that readers see; None where that cannot be told.

    Raises:
        WorkspaceError: The graph is not made from these batches; nothing was changed.
    """

    def __init__(
        self, layout: WorkspaceFiles, graph: GraphStore, trials: TrialStore, *, published: int | None
    ) -> None:
        self._layout = layout
        self._graph = graph
        self._trials = trials
        self._published = time.monotonic()
        self.newest, self._seal = batches.newest(trials.file)
        if fault := graph_mismatch(graph, trials.file):
            raise WorkspaceError(
                f"{layout.root} is damaged, or a part of it is an older copy: {fault}",
                hint="nothing was changed; tunegraph doctor says what to do",
            )
        self._is_ahead = catch_up(graph, trials.file) or published != self.newest
        self._sweep()

    @contextmanager
    def step(self) -> Iterator[GraphStep]:
        """Begin a batch: what is written inside, and recorded with the step, is there whole or not at all.

        The graph is caught up when the transaction has ended, which acknowledges the batch.
        """
        step = GraphStep(self._trials.file, self.newest, self._seal)
        with self._trials.transaction():
            yield step
        if step.change is not None:
            self.newest, self._seal = step.newest, step.seal
            self._is_ahead = True
            self._graph.replace_plain(step.change.removed, step.change.added)

    def resume(self) -> None:
        """Go on after a step that failed, whether before or after it was acknowledged."""
        self.newest, self._seal = batches.newest(self._trials.file)
        self._is_ahead |= catch_up(self._graph, self._trials.file)
        self._sweep()

    def publish(self) -> None:
        """Publish acknowledged batches to readers."""
        if self._is_ahead:
            publish(self._graph, self._layout.graph)
            self._is_ahead = False
        self._published = time.monotonic()

    def publish_if_due(self) -> None:
        """Publish if readers have waited long enough."""
        if time.monotonic() - self._published > PUBLISH_EVERY_S:
            self.publish()

    def _sweep(self) -> None:
        sweep_learned(self._layout, self.newest)
        sweep_versions(self._layout, self.newest)


class GraphStep:
    """A change of the graph that is being written down, with a batch or without.

    Attributes:
        newest: Newest batch, this one included.
        seal: Its seal.
        change: The change of the graph; None as long as nothing is recorded.

    Args:
        file: With a transaction open.
        newest: Newest batch so far.
        seal: Its seal.
    """

    def __init__(self, file: TrialsFile, newest: int, seal: str) -> None:
        self._file = file
        self.newest = newest
        self.seal = seal
        self.change: GraphChange | None = None

    def batch(
        self,
        activity: Batch,
        added: Iterable[str],
        removed: Iterable[Triple],
        touched: Iterable[int] = (),
    ) -> None:
        """Record a batch.

        Args:
            activity: The batch, without its seal.
            added: What it adds to the graph, in N-Triples.
            removed: What it takes away.
            touched: Keys of the problems that have new rows.
        """
        rows = batches.digest_of(self._file, activity.number, touched)
        change = GraphChange(
            removed="".join(plain(removed)).encode(),
            added="".join(dict.fromkeys(added)).encode(),  # problems share workloads
        )
        self.seal, self.newest = rows.with_change(activity.number, change, self.seal), activity.number
        texts = TextDescriptions()
        describe(replace(activity, seal=self.seal), texts)
        self.change = replace(change, added="".join(texts).encode() + change.added)
        digest = rows.with_change(activity.number, self.change)
        batches.record(self._file, activity.number, digest, self.seal, self.change)

    def knowledge(self, added: Iterable[Triple], removed: Iterable[Triple]) -> None:
        """Record a change of the knowledge that is no batch."""
        self.change = GraphChange(
            removed="".join(plain(removed)).encode(), added="".join(plain(added)).encode()
        )
        batches.record_change(self._file, self.newest, self.change)


def import_to_undo(file: TrialsFile, graph: GraphStore, number: int) -> list[Triple]:
    """Return the triples that an import added, if they can go.

    Raises:
        InputError: The batch is no import, or what it added has changed or is used since.
        WorkspaceError: The batch is damaged.
    """
    marks = completion_marks(graph)
    imported = sorted(int(mark.removeprefix("import/")) for mark in marks if mark.startswith("import/"))
    if number not in imported:
        raise InputError(
            f"batch {number} is no import", hint=f"imports: {', '.join(map(str, imported)) or 'none'}"
        )
    if f"undo/{number}" in marks:
        raise InputError(f"the import of batch {number} was taken back already")
    change, node = change_of(file, number), batch_iri(number)
    if change is None:
        raise InputError(f"what batch {number} brought is not known")
    added = read_lines(BytesIO(change.added))
    removed = {triple for triple in added if triple.subject != node}  # that it was there stays said
    for triple in removed:
        if not contains(graph, triple):
            raise InputError(f"what batch {number} said of {triple.subject} has changed since")
    if users := users_of(graph, removed):
        raise InputError(
            f"what batch {number} brought is used since by {users[0]}",
            hint="what came later must be taken back first",
        )
    return sorted(removed, key=str)
