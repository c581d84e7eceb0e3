"""The contents of a workspace: counted, checked, queried, joined and exported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kg.rows.cases import all_cases
from kg.triples.nodes import labels_by_english
from kg.triples.queries import catalogue
from recommender.store import creation
from recommender.store.lists import listings
from recommender.workspace.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from ingest.corpora.corpus import Corpus
    from ingest.exporting import ExportResult
    from kg.nouns.recipe import Recipe
    from kg.rows.trial_rows import ProblemRow
    from kg.triples.queries import NamedQuery
    from kg.triples.user_queries.sparql import QueryRows
    from kg.triples.validation import Violation
    from recommender.store.ingestion import IngestSummary, Options
    from recommender.store.lineage import Lineage
    from recommender.store.lists.name_lists import NameList
    from recommender.store.lists.support import ProgramSupport
    from recommender.store.merging import MergeResult


class KnowledgeDesk(Desk):
    """Knowledge of a workspace, and the ways in which more comes in."""

    __slots__ = ()

    def stats(self) -> dict[str, Any]:
        """Count nouns, cases, rows and triples."""
        return {
            **self.snapshot.counts,
            "batches": self.snapshot.batch,
            "text_model": creation.text_model(self.snapshot.manifest),
            "knowledge_version": self.snapshot.knowledge_version,
        }

    def name_list(self, kind: str, *, vendor: str = "", like: str = "") -> NameList:
        """List models, hardware, servers, bottlenecks, strategies, operators or frameworks.

        Raises:
            InputError: There is no such list, or the vendor is unknown.
        """
        from recommender.store.lists.name_lists import name_list

        return name_list(self.snapshot, kind, vendor=vendor, like=like)

    def terms(self, language: str) -> dict[str, str]:
        """Names of strategies, bottlenecks, devices and the like in a language, by their English names."""
        return labels_by_english(self.graph, language)

    def labels_of_settings(self) -> dict[str, str]:
        """The English name of the smallest strategy that switches a setting on, by its plain name."""
        from kg.nouns.knowledge import Strategy
        from kg.terms.purposes import plain_key
        from kg.triples.serialisation import all_of

        return {
            plain_key(one.key): strategy.label
            for strategy in sorted(all_of(self.graph, Strategy), key=lambda item: -len(item.sets))
            for one in strategy.sets
            if str(one.value).lower() in {"1", "true"}
        }

    def support(self, program: str = "", hardware: str = "") -> list[ProgramSupport]:
        """Levels of support of programs: measured, recipe, modelled, read only or unknown.

        Args:
            program: Any name of the only one.
            hardware: Any name of the only chip.

        Raises:
            UnknownEntityError: A name is not known; the hint has the nearest.
        """
        from kg.nouns.framework import Framework
        from kg.triples.serialisation import all_of
        from recommender.applicability.programs import known_program
        from recommender.store.lists.support import support

        name = known_program(program, list(all_of(self.graph, Framework))) if program else ""
        chip = self.names.hardware(hardware).id if hardware else ""
        return support(self.graph, self.trials, self.hardware, name, chip)

    def recipes(self, **wanted: str) -> list[Recipe]:
        """Recipes by model, hardware, role, framework and family, of which any may be missing."""
        from recommender.store.recipes import recipes

        return recipes(self.graph, self.names, self.hardware, **wanted)

    def validate(self) -> list[Violation]:
        """List where the knowledge breaks its SHACL shapes; a circle of causes is a violation too."""
        from kg.triples.validation import knowledge_violations

        return knowledge_violations(self.graph)

    @property
    def lineage(self) -> Lineage:
        """The effects, the saved versions, and the next step of evolution."""
        from recommender.store.lineage import Lineage  # with the cost model, which an answer seldom needs

        return Lineage(layout=self.snapshot.layout, graph=self.graph, trials=self.trials, tree=self.hardware)

    def catalogue(self) -> list[NamedQuery]:
        """Return the named queries."""
        return list(catalogue().values())

    def query(
        self, text: str, given: Mapping[str, str] | None = None, *, deadline_s: float = 30.0
    ) -> QueryRows:
        """Answer a query of the catalogue by name, or SPARQL in a process of its own with a deadline."""
        return listings.run_query(self.graph, self.snapshot.folder, text, given or {}, seconds=deadline_s)

    def export(self, path: Path, *, knowledge_only: bool = False, force: bool = False) -> tuple[int, str]:
        """Write the graph as RDF or the cases as a table, by the ending of ``path``.

        Returns:
            How many, and what was written.

        Raises:
            InputError: The ending is unknown, or the file is there already.
        """
        from ingest.exporting import SUFFIXES

        if path.suffix in SUFFIXES:
            return self.export_cases(path, SUFFIXES[path.suffix], force=force).rows, "cases"
        from kg.rows.interchange import interchange

        if knowledge_only:
            from kg.triples.validation import knowledge_part

            return listings.write_out(path, knowledge_part(self.graph), force=force), "triples"
        return listings.write_out(path, interchange(self.graph, self.trials), force=force), "triples"

    def export_cases(
        self, path: Path, form: str, *, operator: str = "", hardware: str = "", force: bool = False
    ) -> ExportResult:
        """Write cases in one of the forms of ``ingest.exporting``, for other programs.

        Args:
            path: A file, or a folder for the forms that are folders.
            form: Name of the form.
            operator: Only cases of this operator; all if empty.
            hardware: Only cases on this device, by any of its names; all if empty.
            force: Replace what is there.

        Raises:
            InputError: The form is unknown or cannot hold the cases, or something is there already.
        """
        device = self.names.hardware_or_slug(hardware)[0] if hardware else ""

        def wanted(row: ProblemRow) -> bool:
            return operator in ("", row.operator) and device in ("", row.hardware)

        cases = listings.as_published(all_cases(self.graph, self.trials, wanted), self.graph)
        return listings.write_cases(path, cases, form, force=force)

    def try_out(
        self,
        paths: Iterable[Path],
        *,
        on_progress: Callable[[int], None] | None = None,
        options: Options | None = None,
    ) -> IngestSummary:
        """Read files as an ingest would, and write nothing."""
        from recommender.store.ingestion import ingest_files

        return ingest_files(paths, self.graph, None, on_progress=on_progress, options=options)

    def corpora(self, catalogue: Path | None = None) -> list[tuple[Corpus, bool]]:
        """The public corpora that can be pulled, each with whether all of it is here.

        Raises:
            InputError: The catalogue cannot be read.
            CaseFormatError: It is wrong.
        """
        from ingest.corpora.corpus import read_corpora
        from kg.triples.finders import completion_marks

        marks = set(completion_marks(self.graph))
        return [(corpus, corpus.mark in marks) for corpus in read_corpora(catalogue).values()]

    def pull(
        self,
        corpus: Corpus,
        *,
        on_fetch: Callable[[int], None] = lambda _: None,
        on_read: Callable[[int], None] | None = None,
    ) -> IngestSummary:
        """Fetch a public corpus and take it in as one batch, all of it or nothing.

        Args:
            corpus: What to fetch.
            on_fetch: Called with the bytes that arrived since its last call.
            on_read: Called with the bytes that were read since its last call.

        Raises:
            InputError: What arrived is not what the catalogue says.
            FetchError: It did not arrive; the next call goes on from there.
            WorkspaceError: Another process is writing, or it cannot be written.
        """
        from recommender.store.pulling import pull

        summary = pull(
            corpus,
            self.workspace.cache / "corpora" / corpus.id,
            lambda: self.workspace.edit(command="kb pull"),
            on_fetch,
            on_read,
        )
        self.workspace.refresh()
        return summary

    def merge(self, other: Path, *, label: str = "", dry_run: bool = False) -> MergeResult:
        """Join another workspace, and see what came; see ``recommender.store.merging.merge``."""
        if dry_run:
            from recommender.store.merging import merge

            return merge(self.workspace.layout, self.graph, self.trials, None, other, label=label)
        with self.workspace.edit(command="workspace merge") as editor:
            merged = editor.merge(other, label=label)
        self.workspace.refresh()
        return merged
