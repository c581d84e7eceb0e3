"""The one writer of a workspace: batches of cases, each of which is there whole or not at all.

Rows, vectors and statements of a batch are one transaction, whose end acknowledges it: it survives a crash
and a loss of power. The graph follows; what it lacks after a crash is put in when the next writer opens.
"""

from __future__ import annotations

import gc
import logging
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, TypeVar

from kg.lock import WriterLock
from kg.nouns.codec import JsonNoun, in_json
from kg.nouns.outcomes import Outcome
from kg.nouns.provenance import Batch
from kg.nouns.values import Settings
from kg.rows.copies import mark_copied_devices
from kg.rows.ledger import Ledger
from kg.rows.trial_rows import Trial
from kg.rows.trials import TrialStore
from kg.triples.finders import families_of_models
from kg.triples.graph import GraphStore
from kg.triples.serialisation import (
    describe,
    describe_arrival,
    describe_problem,
    description,
    table_of,
    to_triples,
)
from kg.triples.snapshots import published_batch
from kg.triples.tables.descriptions import TextDescriptions, TripleDescriptions, plain
from kg.triples.tables.effects import EFFECT
from kg.triples.vocabulary import Shared
from recommender.store.writing.batch_chain import BatchChain, import_to_undo
from recommender.store.writing.completions import keep_completions
from recommender.store.writing.problem_vectors import ProblemVectors
from recommender.store.writing.source_trusts import SourceTrusts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from embeddings.encoder import ProblemEncoder
    from kg.nouns.effects import Effect
    from kg.nouns.entities import Case, Problem, Trust
    from kg.triples.graph import Triple
    from kg.triples.hardware_tree import HardwareTree
    from recommender.files import WorkspaceFiles
    from recommender.store.writing.batch_chain import GraphStep

T = TypeVar("T")

COLLECT_EVERY = 200_000
"""Objects made before cycles are looked for."""

logger = logging.getLogger(__name__)

BATCH_ROWS = 4000
"""Rows taken into one batch: some 20 ms of SQLite and a second of graph, so little is ever at risk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions(JsonNoun):
    """Numbers of rows and problems that were new or known.

    Attributes:
        rows: Rows that were new.
        repeated: Rows that were there already.
        problems: Problems that were new.
    """

    rows: int = field(default=0, metadata=in_json("rows_new"))
    repeated: int = field(default=0, metadata=in_json("rows_known"))
    problems: int = field(default=0, metadata=in_json("problems_new"))

    def __add__(self, other: Additions) -> Additions:
        return Additions(
            rows=self.rows + other.rows,
            repeated=self.repeated + other.repeated,
            problems=self.problems + other.problems,
        )


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for reference cycles seldom: batches make objects by the million and hardly any cycle.

    Looking at Python's usual pace takes a fifth of the time of an ingest.
    """
    usual = gc.get_threshold()
    gc.set_threshold(COLLECT_EVERY, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


class Writer:
    """Adds knowledge and cases to a workspace; a context manager.

    Args:
        layout: The workspace's files; also an attribute.
        encoder: Makes the problem encoder from the hardware tree.
        clock: Tells the time, with its time zone.
        command: What the lock says about its holder.

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
    ) -> None:
        self.layout = layout
        self._make_encoder = encoder
        self._clock = clock
        self._command = command
        self._touched: set[str] = set()
        self._has_new_names = False

    def __enter__(self) -> Self:
        self._lock = WriterLock(self.layout.lock, command=self._command or None, now=self._clock())
        with ExitStack() as undo:
            undo.callback(self._lock.release)
            self.graph = undo.enter_context(GraphStore(self.layout.live))
            self.trials = undo.enter_context(TrialStore(self.layout.trials))
            self._trusts = SourceTrusts(self.graph, self.trials)
            self._chain = BatchChain(
                self.layout, self.graph, self.trials, published=published_batch(self.layout.graph)
            )
            self._is_torn = False
            if self._lock.was_left:  # what it took in was not looked through for copies or names
                self._touched.update(self.trials.operators())
                self._has_new_names = True
            self._operators = {*self.trials.operators()}
            self._families = families_of_models(self.graph)
            self._vectors = ProblemVectors(self.layout, self.graph, self.trials, self._make_encoder)
            self._open = undo.pop_all()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with self._open:
            if self._touched and kind is None:
                mark_copied_devices(self.trials, self._touched)
            self._chain.publish()
            self._vectors.catch_up()
            if kind is None:
                is_known = self._touched <= self._operators and self.layout.completions.exists()
                if self._has_new_names or not is_known:
                    keep_completions(self.layout, self.graph, self.trials)
                self._lock.finish()

    @property
    def batch(self) -> int:
        """Number of the newest acknowledged batch."""
        return self._chain.newest

    @property
    def encoder(self) -> ProblemEncoder:
        """Makes vectors of problems."""
        return self._vectors.encoder

    def add_knowledge(self, nouns: Iterable[object]) -> None:
        """Put nouns of the knowledge into the graph; one that is there already is replaced."""
        removed: list[Triple] = []
        added: list[Triple] = []
        for noun in nouns:
            removed += description(self.graph, table_of(type(noun)).iri(noun))
            added += to_triples(noun)
        self.change_knowledge(removed, added)

    def change_knowledge(self, removed: Iterable[Triple], added: Iterable[Triple]) -> None:
        """Change statements of the knowledge, as one step that is no batch."""
        with self._step() as step:
            step.knowledge(added, removed)
        self.changed()

    def changed(self) -> None:
        """Take note that the knowledge in the graph is another now."""
        self._has_new_names = True
        self._families = families_of_models(self.graph)
        self._vectors.reopen()

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
            about: Nouns to describe with the cases, such as their outcome; left out if all cases are known.
        """
        now = self._clock()
        groups: dict[str, list[Case]] = {}
        for case in cases:
            groups.setdefault(case.problem.id, []).append(case)
        fresh: list[Problem] = []
        added = TextDescriptions()
        gains: list[Case] = []
        rows = 0
        removed: list[Triple] = []
        touched: set[int] = set()
        with self._step() as step:
            number = step.newest + 1
            ledger = Ledger(self.graph, self._families, now)
            # before gains are counted: each counts for the effect of its source's trust from now on
            is_trusted_anew = self._trusts.set_for(cases, trust, number, ledger, removed, added)
            for problem_id, group in groups.items():
                problem = group[0].problem
                key = self.trials.problem_key(problem_id)
                is_fresh = key is None
                if key is None:
                    key = self.trials.add_problem(number, problem)
                touched.add(key)
                new = self._add_rows(number, problem, key, group, gains)
                rows += new
                if is_fresh:
                    fresh.append(problem)
                    self._describe(problem, number, group, added)
                elif new:
                    sources = {case.source.id: case.source for case in group}
                    describe_arrival(problem, number, sources.values(), added)
            if not rows and not completed and not is_trusted_anew:
                return Additions(repeated=len(cases))
            if fresh:
                self._vectors.append(fresh, number)
            activity = Batch(
                number=number,
                time=now,
                files=tuple(dict.fromkeys(files)),
                counts=Settings({"problems": len(fresh), "trials": rows}),
                completed=tuple(completed),
                origin=origin,
            )
            outcomes = {
                (item.source.id, item.configuration.digest): item
                for item in about
                if isinstance(item, Outcome)
            }
            for case in gains:
                outcome = outcomes.get((case.source.id, case.configuration.digest))
                ledger.count(case, self._trusts.of(case.source.id), outcome)
            # once for the batch: an effect with gains from many cases is described anew a single time
            removed += ledger.settle(added)
            for noun in about:
                describe(noun, added)
                self._has_new_names |= not isinstance(noun, Outcome)
            step.batch(activity, added, removed, touched)
        self._touched.update(group[0].problem.workload.operator for group in groups.values())
        logger.info("batch %d acknowledged: %d rows, %d problems", number, rows, len(fresh))
        self._chain.publish_if_due()
        return Additions(rows=rows, repeated=len(cases) - rows, problems=len(fresh))

    def add_effects(self, effects: Sequence[Effect], *, completed: Sequence[str], origin: str = "") -> None:
        """Add what is known of effects without their cases to the effects that are there, as one batch.

        Args:
            effects: The gains to add.
            completed: What to remember them by.
            origin: Label of the workspace they are from.
        """
        added = TextDescriptions()
        removed: list[Triple] = []
        for effect in effects:
            node = EFFECT.node(self.graph, EFFECT.iri(effect))
            statements = self.graph.triples(node.iri)
            removed += (triple for triple in statements if triple.predicate != Shared.DERIVED_FROM)
            describe(EFFECT.read(node).merge(effect) if node.values else effect, added)
        with self._step() as step:
            number, now = step.newest + 1, self._clock()
            activity = Batch(number=number, time=now, completed=tuple(completed), origin=origin)
            step.batch(activity, added, removed)

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
        obsolete, current, texts = list(removed), TripleDescriptions(added), TextDescriptions()
        with self._step() as step:
            number, now = step.newest + 1, self._clock()
            ledger = Ledger(self.graph, self._families, now)
            for source_id, trust in trusts.items():
                self._trusts.set(source_id, trust, number, ledger, obsolete, current)
            without = ledger.settle(texts)
            prepared = prepare(number, obsolete, current)
            activity = Batch(number=number, time=now, completed=(mark,))
            step.batch(activity, [*plain(current), *texts], obsolete + without)
        self.changed()
        return prepared

    def take_in(self, added: Sequence[Triple], name: str) -> None:
        """Add checked triples as one batch that :meth:`undo` can take back.

        Args:
            added: Triples that the graph has not yet.
            name: Name of the file they are from.
        """
        with self._step() as step:
            number = step.newest + 1
            activity = Batch(
                number=number, time=self._clock(), files=(name,), completed=(f"import/{number}",)
            )
            step.batch(activity, plain(added), [])
        self.changed()

    def undo(self, number: int) -> int:
        """Take back what an import added, as one batch; return how many triples.

        Raises:
            InputError: The batch is no import, or what it added has changed or is used since.
        """
        removed = import_to_undo(self.trials.file, self.graph, number)
        with self._step() as step:
            activity = Batch(number=step.newest + 1, time=self._clock(), completed=(f"undo/{number}",))
            step.batch(activity, [], removed)
        self.changed()
        return len(removed)

    def repair(self) -> None:
        """Make the vectors anew if some are missing, and the index if anything in it is wrong."""
        self._vectors.repair()

    @contextmanager
    def _step(self) -> Iterator[GraphStep]:
        """Begin a step, after what a step that failed has left behind is cleared away."""
        if self._is_torn:
            self._chain.resume()
            self._vectors.reopen()
            self._trusts.forget()
        self._is_torn = True
        with self._chain.step() as step:
            yield step
        self._is_torn = False

    def _add_rows(self, number: int, problem: Problem, key: int, group: list[Case], gains: list[Case]) -> int:
        with_gain = [case for case in group if case.strategy and case.log_gain is not None]
        without_gain = [Trial.of(case) for case in group if not case.strategy or case.log_gain is None]
        new = self.trials.add(number, problem, without_gain, problem_key=key) if without_gain else 0
        for case in with_gain:
            trial = Trial.of(case)
            is_copy = self.trials.has_gain(key, trial)
            if self.trials.add(number, problem, [trial], problem_key=key):
                new += 1
                if not is_copy:
                    gains.append(case)
        return new

    def _describe(self, problem: Problem, number: int, group: list[Case], out: TextDescriptions) -> None:
        sources = {case.source.id: case.source for case in group}
        family = self._families.get(problem.workload.model or "", "")
        describe_problem(problem, number, sources.values(), out, family=family)
