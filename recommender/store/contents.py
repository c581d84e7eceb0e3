"""What a workspace holds: counted, checked, queried and written out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kg.rows.cases import all_cases
from kg.triples.queries import CATALOGUE
from recommender.store import listings as holdings
from recommender.store import shipped_knowledge as shipped
from recommender.store.inspection import OLD_KNOWLEDGE, CheckResult, Severity, in_step
from recommender.store.reader import WorkspaceReader

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ingest.exporting import ExportResult
    from ingest.questions.problems import KnownOperator
    from kg.rows.trial_rows import ProblemRow
    from kg.triples.queries import NamedQuery
    from kg.triples.validation import Violation
    from recommender.store.coverage import Coverage
    from recommender.store.lineage import Lineage
    from recommender.store.listings import QueryRows


class WorkspaceContents(WorkspaceReader):
    """A workspace to look into; see :class:`recommender.store.reader.WorkspaceReader`."""

    def operator(self, name: str) -> KnownOperator:
        """What the cases know of an operator.

        Raises:
            UnknownEntityError: No case has it.
        """
        return holdings.known_operator(self.graph, self.trials, name)

    def stats(self) -> dict[str, Any]:
        """How much there is of everything."""
        return {
            **holdings.count(self.graph, self.trials),
            "batches": self.batch,
            "text_model": self.text_model,
            "knowledge_version": self.knowledge_version,
        }

    def coverage(self, *, most: int = 10) -> Coverage:
        """Where evidence is thin, what is there twice, and what to measure next."""
        from recommender.store.coverage import coverage

        return coverage(self.graph, self.trials, self.hardware, most=most)

    def validate(self) -> list[Violation]:
        """Faults of the knowledge against its shapes; a circle of causes counts as one."""
        from kg.triples.validation import knowledge_part, validate

        return validate(knowledge_part(self.graph), known=self.graph)

    def check(self) -> list[CheckResult]:
        """Whether graph, trials, vectors and index are whole and in step; every byte of the index is read."""
        findings = list(in_step(self.graph, self.trials, self.index))
        faults = self.index.verify()
        findings.append(
            CheckResult(
                about="index",
                severity=Severity.FAULT if faults else Severity.OK,
                says="; ".join(faults) or f"{len(self.index):,} vectors, whole",
                remedy="tunegraph doctor --repair" if faults else "",
            )
        )
        if self._manifest.get("shipped") not in {None, shipped.version()}:
            findings.append(OLD_KNOWLEDGE)
        return findings

    @property
    def lineage(self) -> Lineage:
        """Effects, versions, and what the next step of evolution would change."""
        from recommender.store.lineage import Lineage  # with the cost model, which an answer seldom needs

        return Lineage(layout=self.layout, graph=self.graph, trials=self.trials, tree=self.hardware)

    def catalogue(self) -> list[NamedQuery]:
        """The named queries."""
        return list(CATALOGUE.values())

    def query(
        self, text: str, given: Mapping[str, str] | None = None, *, deadline_s: float = 30.0
    ) -> QueryRows:
        """Answer a query of the catalogue by name, or SPARQL in a process of its own with a deadline."""
        return holdings.run_query(self.graph, self._snapshot, text, given or {}, seconds=deadline_s)

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
        if knowledge_only:
            from kg.triples.validation import knowledge_part

            return holdings.write_out(path, knowledge_part(self.graph), force=force), "triples"
        return holdings.write_out(path, self.graph.triples(), force=force), "triples"

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
            MissingDependencyError: What the form needs is not installed.
        """
        device = self.names.hardware_or_slug(hardware)[0] if hardware else ""

        def wanted(row: ProblemRow) -> bool:
            return operator in ("", row.operator) and device in ("", row.hardware)

        return holdings.write_cases(path, all_cases(self.graph, self.trials, wanted), form, force=force)
