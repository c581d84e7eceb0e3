"""Changes to a workspace, while holding its lock: knowledge, cases, graphs of others."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ingest.door.gain_limits import highest_gain
from ingest.knowledge.cross_references import CLASSES, check_knowledge, with_symmetric_conflicts
from ingest.knowledge.files import read_knowledge
from kg.atomic_files import read_text
from kg.errors import CaseFormatError, Fault, InputError
from kg.nouns.effects import Effect
from kg.nouns.knowledge import Strategy
from kg.triples import iris, nodes
from kg.triples.exchange import import_graph
from kg.triples.hardware_tree import HardwareTree
from kg.triples.serialisation import all_of, from_graph, to_triples
from kg.triples.validation import validate
from kg.triples.vocabulary import TG
from recommender.evolution.incompatibilities import failed_strategies, revise_conflicts
from recommender.store.evolution_step import revert, take_step
from recommender.store.ingestion import BATCH_SECONDS, ingest_files
from recommender.store.merging import merge
from recommender.store.writing.writer import BATCH_ROWS, Additions, Writer, rare_collections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from ingest.knowledge.files import Noun
    from kg.nouns.entities import Case, Trust
    from kg.nouns.grid import GreenSchedule, GridRegion
    from kg.nouns.recipe import Recipe
    from recommender.experiment.concluding import Conclusion
    from recommender.store.evolution_step import EvolutionStep
    from recommender.store.ingestion import IngestSummary, Options
    from recommender.store.merging import MergeResult
    from recommender.store.versions import Version

BATCH_OUTCOMES = 50_000
"""Outcomes of one batch, in half a gigabyte: an effect that recurs is written once for many."""
MOST_KNOWLEDGE_BYTES = 16 << 20
"""Largest file of a user's knowledge; sixteen times the largest that ships. A choice."""

KNOWLEDGE_KINDS = {
    "hardware": ("hardware",),
    "model": ("models", "families"),
    "strategy": ("strategies", "bottlenecks", "causes", "faults"),
}
"""Kinds that ``kb add`` accepts, and the sections that such a file may have."""


class Editor:
    """The writing side of a workspace; a context manager.

    Args:
        writer: Not entered yet.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._failed: set[str] | None = None

    def __enter__(self) -> Self:
        self._writer.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        self._writer.__exit__(*details)

    def ingest(
        self,
        paths: Iterable[Path],
        *,
        on_progress: Callable[[int], None] | None = None,
        on_batch: Callable[[Additions], None] | None = None,
        batch_rows: int = BATCH_ROWS,
        batch_s: float = BATCH_SECONDS,
        options: Options | None = None,
    ) -> IngestSummary:
        """Take in the cases of files and folders; see ``recommender.store.ingestion.ingest_files``."""
        return ingest_files(
            paths,
            self._writer.graph,
            self._writer,
            on_progress=on_progress,
            on_batch=on_batch,
            batch_rows=batch_rows,
            batch_s=batch_s,
            options=options,
        )

    def add_cases(self, cases: Sequence[Case], origin: str = "") -> Additions:
        """Take in cases as one batch; they are acknowledged when this returns."""
        return self._writer.add(cases, [origin] if origin else ())

    def add_outcomes(self, conclusions: Sequence[Conclusion], *, trust: Trust | None = None) -> Additions:
        """Take in what A/B tests found, in any order, in batches; each once, however often it is told.

        Args:
            conclusions: What they found.
            trust: How far whoever ran them is trusted from now on; None to leave that as it is.
        """
        added = Additions()
        with rare_collections():
            for start in range(0, len(conclusions), BATCH_OUTCOMES):
                added += self._add_outcomes(conclusions[start : start + BATCH_OUTCOMES], trust)
        return added

    def _add_outcomes(self, part: Sequence[Conclusion], trust: Trust | None) -> Additions:
        titles = {item.case.source.title for item in part}
        names = titles if len(titles) == 1 else ()  # of many, each source says its own
        outcomes = [item.outcome for item in part]
        added = self._writer.add([item.case for item in part], names, trust=trust, about=outcomes)
        if self._failed is None:
            self._failed = failed_strategies(self._writer.graph)
        self._failed |= {item.strategy for item in outcomes if item.strategy and item.treatment_never_ran}
        tried = {item.strategy for item in outcomes} & self._failed
        if changed := revise_conflicts(self._writer.graph, tried):
            self.add_knowledge(changed)
        return added

    def evolve(self, now: datetime, *, name: str = "", most: int = 10) -> EvolutionStep:
        """Take one step of evolution and save it as a version; see ``evolution_step.take_step``."""
        return take_step(self._writer, now, name=name, most=most)

    def revert(self, now: datetime, name: str) -> Version:
        """Go back to a version of the knowledge; evidence stays. See ``evolution_step.revert``."""
        return revert(self._writer, now, name)

    def learn(self) -> list[str]:
        """Learn from all timed rows how operators respond to configurations; return the operators.

        Raises:
            MissingDependencyError: scikit-learn is not installed.
        """
        from recommender.store.upkeep.learned import learn

        writer = self._writer
        return learn(writer.graph, writer.trials, HardwareTree(writer.graph), writer.layout.models)

    def repair(self) -> None:
        """Make missing vectors and a damaged index anew; a crash was cleared away by entering."""
        self._writer.repair()

    def add_knowledge(self, nouns: Sequence[Noun | Recipe | GridRegion | GreenSchedule]) -> None:
        """Put nouns into the graph; one of the same class and id is replaced."""
        self._writer.add_knowledge(nouns)

    def add_file(self, kind: str, path: Path) -> list[Noun]:
        """Add a user's own knowledge file, all of it or nothing.

        Args:
            kind: One of :data:`KNOWLEDGE_KINDS`.
            path: A file in the form of docs/knowledge-format.md.

        Returns:
            What was added.

        Raises:
            InputError: The file cannot be read, or ``kind`` is unknown.
            CaseFormatError: Everything that is wrong with it.
        """
        if kind not in KNOWLEDGE_KINDS:
            raise InputError(f"cannot add {kind!r}", hint=f"one of: {', '.join(KNOWLEDGE_KINDS)}")
        nouns = read_knowledge(read_text(path, MOST_KNOWLEDGE_BYTES), str(path))
        faults = [
            Fault(place=noun.id, reason=f"belongs to {CLASSES[type(noun)]}, not to a {kind} file")
            for noun in nouns
            if CLASSES[type(noun)] not in KNOWLEDGE_KINDS[kind]
        ]
        if not nouns:
            faults.append(Fault(place="", reason=f"says nothing of {' or '.join(KNOWLEDGE_KINDS[kind])}"))
        faults += check_knowledge(nouns, self._known_ids())
        stated = with_symmetric_conflicts([*nouns, *self._partners(nouns)])
        if not faults:
            triples = [triple for noun in stated for triple in to_triples(noun)]
            violations = validate(triples, described_in=self._writer.graph)
            faults = [
                Fault(place=violation.focus, reason=f"{violation.path}: {violation.message}")
                for violation in violations
            ]
        if faults:
            raise CaseFormatError(str(path), faults, hint="see docs/knowledge-format.md")
        self.add_knowledge(stated)
        return nouns

    def _partners(self, nouns: Sequence[Noun]) -> list[Strategy]:
        """Strategies of the graph that exclude one of ``nouns``, or that one of them excludes."""
        graph = self._writer.graph
        own = {noun.id: noun for noun in nouns if isinstance(noun, Strategy)}
        others = {item.target for noun in own.values() for item in noun.conflicts_with}
        for identifier in own:
            stating = nodes.subjects(graph, TG.CONFLICTS_WITH, iris.strategy_iri(identifier))
            others |= {iris.name_of(node) for node in stating}
        there = set(self._known_ids()["strategies"])
        return [from_graph(graph, Strategy, name) for name in sorted(others & there - set(own))]

    def import_graph(self, path: Path, place: str = "") -> int:
        """Take in an exported graph as a batch of its own: all of it or, where it has a fault, nothing.

        Knowledge and effects come whole, problems without their trials.

        Args:
            path: The file.
            place: What messages call it; its path if empty.

        Returns:
            How many triples were new.

        Raises:
            InputError: The file cannot be read, or is not what its name says.
            CaseFormatError: Everything that readers could not read once it was taken in.
        """
        from kg.rows.interchange import fold_evidence
        from kg.triples.graph import GraphStore
        from kg.triples.union import check_import

        place = place or str(path)
        incoming = GraphStore()
        try:
            with path.open("rb") as stream:
                import_graph(incoming, stream, path.name, batches=False)
            fold_evidence(incoming, self._writer.graph)
        except OSError as error:
            raise InputError(f"{place}: {error.strerror}") from None
        except InputError as error:
            raise InputError(f"{place}: {error}", hint=error.hint) from None
        checked = check_import(self._writer.graph, incoming)
        faults = [Fault(place=place, reason=reason) for place, reason in checked.faults]
        if not faults:
            described = [noun for noun in checked.nouns if type(noun) in CLASSES]
            faults += check_knowledge(described, self._known_ids())
            faults += [
                Fault(place=f"effect of {noun.strategy}", reason="a mean gain that no strategy has")
                for noun in checked.nouns
                if isinstance(noun, Effect) and abs(noun.mean or 0) > math.log(highest_gain(noun.metric))
            ]
        if faults:
            raise CaseFormatError(place, faults, hint="nothing was taken in")
        if checked.added:
            self._writer.take_in(checked.added, path.name)
        return len(checked.added)

    @property
    def batch(self) -> int:
        """Number of the newest acknowledged batch."""
        return self._writer.batch

    def undo(self, number: int) -> int:
        """Take back an import by the number of its batch; see ``Writer.undo``."""
        return self._writer.undo(number)

    def merge(self, other: Path, *, label: str = "") -> MergeResult:
        """Join another workspace; see ``recommender.store.merging.merge``."""
        writer = self._writer
        return merge(writer.layout, writer.graph, writer.trials, writer, other, label=label)

    def _known_ids(self) -> dict[str, set[str]]:
        ids: dict[str, set[str]] = {}
        for noun, section in CLASSES.items():
            ids.setdefault(section, set()).update(item.id for item in all_of(self._writer.graph, noun))
        return ids
