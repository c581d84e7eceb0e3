"""The one writer of a workspace: batches of cases in the order that makes them survive a crash.

Trials (one transaction), vectors (append, fsync), then one atomic write to the graph, which is the
acknowledgement. What a crash leaves of an unacknowledged batch is swept when the next writer opens.
"""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np

from embeddings.index import ProblemIndex
from embeddings.vector_log import write_log
from kg.errors import IndexMismatchError, WorkspaceError
from kg.lock import WriterLock
from kg.nouns.entities import Problem, Trust
from kg.nouns.knowledge import Model
from kg.nouns.outcomes import Outcome
from kg.nouns.provenance import Batch
from kg.nouns.values import Settings
from kg.rows import seals
from kg.rows.copies import mark_copied_devices
from kg.rows.ledger import Ledger
from kg.rows.trial_rows import Trial
from kg.rows.trials import TrialStore
from kg.triples.finders import batch_records
from kg.triples.hardware_tree import HardwareTree
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.serialisation import (
    all_of,
    arrival_triples,
    batch_triples,
    description,
    newest_batch,
    problem_triples,
    table_of,
    to_triples,
)
from kg.triples.snapshots import publish
from kg.triples.tables.effects import EFFECT
from kg.triples.tables.fields import Node
from kg.triples.vocabulary import Shared
from recommender.store.source_trusts import SourceTrusts
from recommender.store.upkeep.imports import import_to_undo, save_import
from recommender.store.upkeep.learned import sweep_learned
from recommender.store.upkeep.marks import Marks, note_in_manifest
from recommender.store.versions import sweep_versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from embeddings.encoder import ProblemEncoder
    from kg.nouns.effects import Effect
    from kg.nouns.entities import Case
    from kg.triples.graph import Triple
    from recommender.files import WorkspaceFiles

T = TypeVar("T")

logger = logging.getLogger(__name__)

BATCH_ROWS = 4000
"""Rows taken into one batch: some 20 ms of SQLite and a second of graph, so little is ever at risk."""
PUBLISH_EVERY_S = 5.0
"""How old a published snapshot may be while a writer works (DESIGN.md section 4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """Numbers of rows and problems that were new or known.

    Attributes:
        rows: Rows that were new.
        known: Rows that were there already.
        problems: Problems that were new.
    """

    rows: int = 0
    known: int = 0
    problems: int = 0

    def __add__(self, other: Additions) -> Additions:
        return Additions(
            rows=self.rows + other.rows,
            known=self.known + other.known,
            problems=self.problems + other.problems,
        )


class Writer:
    """Adds knowledge and cases to a workspace; a context manager.

    Args:
        layout: The workspace's files; also an attribute.
        encoder: Makes the problem encoder from the hardware tree.
        clock: Tells the time, with its time zone.
        command: What the lock says about its holder.
        durable: Also wait for the disk after each batch, so that acknowledged survives loss of power.

    Raises:
        WorkspaceError: Another process is writing, or a part of the workspace is damaged.
    """

    def __init__(
        self,
        layout: WorkspaceFiles,
        encoder: Callable[[HardwareTree], ProblemEncoder],
        clock: Callable[[], datetime],
        *,
        command: str = "",
        durable: bool = False,
    ) -> None:
        self.layout = layout
        self._make_encoder = encoder
        self._clock = clock
        self._durable = durable
        self._command = command
        self._published = time.monotonic()
        self._dirty = True
        self._seal = ""
        self._touched: set[str] = set()

    def __enter__(self) -> Self:
        self._lock = WriterLock(self.layout.lock, command=self._command or None, now=self._clock())
        with ExitStack() as undo:
            undo.callback(self._lock.release)
            self.graph = undo.enter_context(OxigraphStore(self.layout.live))
            self.trials = undo.enter_context(TrialStore(self.layout.trials))
            self._trusts = SourceTrusts(self.graph, self.trials)
            self._check_and_sweep()
            self._is_torn = False
            if self._lock.was_left:  # what it took in was not looked through for copies
                self._touched.update(self.trials.operators())
            self._learn_names()
            undo.callback(self.index.close)
            self._open = undo.pop_all()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with self._open:
            if self._touched and kind is None:
                mark_copied_devices(self.trials, self._touched)
            self.publish()
            self.index.catch_up(self.batch)
            if kind is None:
                self._lock.finish()

    def _check_and_sweep(self) -> None:
        """Refuse a workspace whose parts contradict each other; then sweep the one unfinished batch."""
        marks = Marks.read(self.layout, self.graph, self.trials)
        marks.check(self.layout)
        self.batch = marks.graph
        self._seal = marks.records[self.batch].seal if self.batch else ""
        self._dirty = self._lock.was_left or marks.published != self.batch
        seals.prepare(self.trials.file)
        seals.acknowledge(self.trials.file, self.batch)
        self._sweep_unfinished()

    def _sweep_unfinished(self) -> None:
        sweep_learned(self.layout, self.batch)
        sweep_versions(self.layout, self.batch)
        if swept := self.trials.sweep(self.batch):
            logger.warning(
                "swept %d rows of batch %d, which was not finished; they lie in the quarantine of %s",
                swept,
                self.batch + 1,
                self.layout.trials.name,
            )

    def add_knowledge(self, nouns: Iterable[object]) -> None:
        """Put nouns of the knowledge into the graph; one that is there already is replaced."""
        removed: list[Triple] = []
        added: list[Triple] = []
        for noun in nouns:
            triples = to_triples(noun)
            removed += description(self.graph, table_of(type(noun)).iri(noun))
            added += triples
        if removed:
            self.graph.replace(removed, added)
        else:
            self.graph.extend(added)
        self.changed()

    def changed(self) -> None:
        """Take note that the knowledge in the graph is another now."""
        self._dirty = True
        self.index.close()
        self._learn_names()

    def add(
        self,
        cases: Sequence[Case],
        files: Iterable[str] = (),
        *,
        completed: Sequence[str] = (),
        origin: str = "",
        trust: Trust | None = None,
        about: Sequence[object] = (),
    ) -> Additions:
        """Take in cases as one batch; returns once they are acknowledged.

        Cases that are all known, from sources that are trusted as before, change nothing and make no batch.

        Args:
            cases: The cases.
            files: Names of the files they are from.
            completed: What is taken in whole with this batch; see ``kg.nouns.provenance.Batch``.
            origin: Label of the workspace they are from; empty for files.
            trust: How far their sources are trusted from now on; None to leave that as it is, except that
                a source which comes with low trust keeps it.
            about: Nouns to describe in the graph with the cases, such as the outcome they are of; left out
                where all cases are known.
        """
        if self._is_torn:
            self._clear_away()
        self._is_torn = True
        number, now = self.batch + 1, self._clock()
        groups: dict[str, list[Case]] = {}
        for case in cases:
            groups.setdefault(case.problem.id, []).append(case)
        fresh: list[Problem] = []
        triples: list[Triple] = []
        gains: list[Case] = []
        rows = 0
        removed: list[Triple] = []
        with self.trials.transaction():
            ledger = Ledger(self.graph, self._families, now)
            is_trusted_anew = self._trusts.set_for(cases, trust, number, ledger, removed, triples)
            for problem_id, group in groups.items():
                problem = group[0].problem
                is_fresh = self.trials.problem_key(problem_id) is None
                new = self._add_rows(number, problem, group, gains)
                rows += new
                if is_fresh:
                    fresh.append(problem)
                if is_fresh:
                    triples += self._describe(problem, number, group)
                elif new:
                    sources = {case.source.id: case.source for case in group}
                    triples += arrival_triples(problem, number, sources.values())
        if not rows and not completed and not is_trusted_anew:
            self._is_torn = False
            return Additions(known=len(cases))
        if fresh:
            keys = [self.trials.problem_key(problem.id) for problem in fresh]
            self.index.append(np.array(keys, np.int64), number, self.encoder.encode(fresh))
        activity = Batch(
            number=number,
            time=now,
            files=tuple(dict.fromkeys(files)),
            counts=Settings({"problems": len(fresh), "trials": rows}),
            completed=tuple(completed),
            origin=origin,
        )
        outcomes = {
            (item.source.id, item.configuration.digest): item for item in about if isinstance(item, Outcome)
        }
        for case in gains:
            outcome = outcomes.get((case.source.id, case.configuration.digest))
            ledger.count(case, self._trusts.of(case.source.id), outcome)
        for noun in about:
            triples += to_triples(noun)
        obsolete, current = ledger.triples()
        touched = {key for problem_id in groups if (key := self.trials.problem_key(problem_id)) is not None}
        self._acknowledge(activity, triples + current, removed + obsolete, touched)
        self._is_torn = False
        self._touched.update(group[0].problem.workload.operator for group in groups.values())
        logger.info("batch %d acknowledged: %d rows, %d problems", number, rows, len(fresh))
        if time.monotonic() - self._published > PUBLISH_EVERY_S:
            self.publish()
        return Additions(rows=rows, known=len(cases) - rows, problems=len(fresh))

    def add_effects(self, effects: Sequence[Effect], *, completed: Sequence[str], origin: str = "") -> None:
        """Add what is known of effects without their cases to the effects that are there, as one batch.

        Args:
            effects: The gains to add.
            completed: What to remember them by.
            origin: Label of the workspace they are from.
        """
        if self._is_torn:
            self._clear_away()
        triples: list[Triple] = []
        removed: list[Triple] = []
        for effect in effects:
            node = Node(self.graph, EFFECT.iri(effect))
            statements = self.graph.triples(node.iri)
            removed += (triple for triple in statements if triple.predicate != Shared.DERIVED_FROM)
            triples += to_triples(EFFECT.read(node).merge(effect) if node.values else effect)
        activity = Batch(number=self.batch + 1, time=self._clock(), completed=tuple(completed), origin=origin)
        self._acknowledge(activity, triples, removed)

    def revise(
        self,
        removed: Iterable[Triple],
        added: Iterable[Triple],
        trusts: Mapping[str, Trust],
        *,
        mark: str,
        prepare: Callable[[int, Sequence[Triple], Sequence[Triple]], T],
    ) -> T:
        """Change what is known and how far sources are trusted, as one batch.

        Args:
            removed: What is no longer said.
            added: What is said instead.
            trusts: Trust of sources by id; their gains go over to the effects of that trust.
            mark: What to remember the batch by.
            prepare: Writes what is to hold from the batch on; gets its number and the knowledge that goes and
                comes with it, just before the graph acknowledges it. Its result is returned.
        """
        if self._is_torn:
            self._clear_away()
        self._is_torn = True
        number, now = self.batch + 1, self._clock()
        obsolete, current = list(removed), list(added)
        with self.trials.transaction():
            ledger = Ledger(self.graph, self._families, now)
            for source_id, trust in trusts.items():
                self._trusts.set(source_id, trust, number, ledger, obsolete, current)
        without, instead = ledger.triples()
        prepared = prepare(number, obsolete, current)
        activity = Batch(number=number, time=now, completed=(mark,))
        self._acknowledge(activity, current + instead, obsolete + without)
        self._is_torn = False
        self.changed()
        return prepared

    def take_in(self, added: Sequence[Triple], name: str) -> None:
        """Add checked triples as one batch that :meth:`undo` can take back.

        Args:
            added: Triples that the graph has not yet.
            name: Name of the file they are from.
        """
        if self._is_torn:
            self._clear_away()
        number = self.batch + 1
        save_import(self.layout, number, added)
        activity = Batch(number=number, time=self._clock(), files=(name,), completed=(f"import/{number}",))
        self._acknowledge(activity, list(added), [])
        self.changed()

    def undo(self, number: int) -> int:
        """Take back what an import added, as one batch; return how many triples.

        Raises:
            InputError: The batch is no import, or what it added has changed or is used since.
        """
        if self._is_torn:
            self._clear_away()
        removed = import_to_undo(self.layout, self.graph, number)
        activity = Batch(number=self.batch + 1, time=self._clock(), completed=(f"undo/{number}",))
        self._acknowledge(activity, [], removed)
        self.changed()
        return len(removed)

    def _clear_away(self) -> None:
        """Sweep what a batch that failed left behind, as the next writer would.

        The graph is asked anew: the failure may have come just after it acknowledged.
        """
        self.batch = newest_batch(self.graph)
        record = batch_records(self.graph).get(self.batch)
        self._seal = record.seal if record else ""
        self._sweep_unfinished()
        self.index.sweep(self.batch)
        self._trusts.forget()
        self._is_torn = False

    def repair(self) -> None:
        """Make the vectors anew if some are missing, and the index if anything in it is wrong."""
        if set(self.trials.keys().tolist()) != set(self.index.keys(self.batch).tolist()):
            self.index.close()
            self._encode_again()
            self._learn_names()
        if self.index.verify():
            self.index.rebuild(self.batch)

    def publish(self) -> None:
        """Let readers see what was acknowledged."""
        if self._dirty:
            publish(self.graph, self.layout.graph)
            self._dirty = False
        try:
            note_in_manifest(self.layout, self.batch, self._seal)
        except OSError as error:  # the older mark is true too
            logger.warning("%s cannot be written: %s", self.layout.manifest, error.strerror)
        self._published = time.monotonic()

    def _add_rows(self, number: int, problem: Problem, group: list[Case], gains: list[Case]) -> int:
        without_gain = [Trial.of(case) for case in group if case.log_gain is None or not case.strategy]
        new = self.trials.add(number, problem, without_gain)
        for case in group:
            if case.log_gain is None or not case.strategy:
                continue
            trial = Trial.of(case)
            is_copy = self.trials.has_gain(problem, trial)
            if self.trials.add(number, problem, [trial]):
                new += 1
                if not is_copy:
                    gains.append(case)
        return new

    def _describe(self, problem: Problem, number: int, group: list[Case]) -> list[Triple]:
        sources = {case.source.id: case.source for case in group}
        family = self._families.get(problem.workload.model or "", "")
        return problem_triples(problem, number, sources.values(), family=family)

    def _acknowledge(
        self, activity: Batch, triples: list[Triple], removed: list[Triple], touched: Iterable[int] = ()
    ) -> None:
        """Seal a batch and let the graph acknowledge it.

        Args:
            activity: The batch, without its seal.
            triples: What it adds to the graph.
            removed: What it takes away.
            touched: Keys of the problems that have new rows.
        """
        file = self.trials.file
        seal = seals.digest_of(file, activity.number, touched).seal(activity.number, self._seal)
        seals.record(file, activity.number, seal)
        triples += batch_triples(replace(activity, seal=seal))
        triples = list(dict.fromkeys(triples))  # problems of one task share their workload: a fifth less work
        if removed:
            self.graph.replace(removed, triples)
        else:
            self.graph.extend(triples)
        if self._durable:
            self.graph.flush()
        self.batch, self._seal = activity.number, seal
        self._dirty = True
        seals.acknowledge(file, activity.number)

    def _learn_names(self) -> None:
        """Take from the graph what encoding needs, and open the index that fits it."""
        self._families = {model.id: model.family for model in all_of(self.graph, Model)}
        self.encoder = self._make_encoder(HardwareTree(self.graph))
        try:
            self.index = self._index()
        except IndexMismatchError:
            logger.warning("the encoder changed: making all vectors again")
            self._encode_again()
            self.index = self._index()
        if self.index.newest() > self.batch + 1:
            ahead = f"vectors of batch {self.index.newest()}, the graph ends with batch {self.batch}"
            self.index.close()
            raise WorkspaceError(f"{self.layout.vectors} has {ahead}", hint="tunegraph doctor --repair")
        self.index.sweep(self.batch)

    def _index(self) -> ProblemIndex:
        return ProblemIndex(self.layout.root, self.encoder.dimension, self.encoder.hash)

    def _encode_again(self) -> None:
        """Make the vectors of all problems of the graph anew, as after a change of encoder."""
        stored = ((self.trials.problem_key(problem.id), problem) for problem in all_of(self.graph, Problem))
        pairs = [(key, problem) for key, problem in stored if key is not None]
        vectors = self.encoder.encode([problem for _, problem in pairs])
        keys = np.array([key for key, _ in pairs], np.int64)
        order = np.argsort(keys, kind="stable")
        part = (keys[order], self.batch, vectors[order])
        write_log(self.layout.vectors, self.encoder.dimension, self.encoder.hash, [part] if pairs else [])
