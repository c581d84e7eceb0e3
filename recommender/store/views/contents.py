"""The contents of a workspace: counted, checked, queried and exported."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kg.rows.cases import all_cases
from kg.triples.nodes import labels_by_english
from kg.triples.queries import CATALOGUE
from recommender.files import WorkspaceFiles
from recommender.store import creation
from recommender.store import shipped_knowledge as shipped
from recommender.store.inspection import OLD_KNOWLEDGE, CheckResult, Severity, check_agreement
from recommender.store.lists import listings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from embeddings.encoder import ProblemEncoder
    from embeddings.index import ProblemIndex
    from ingest.exporting import ExportResult
    from ingest.questions.problems import KnownOperator
    from kg.nouns.entities import Problem
    from kg.nouns.recipe import Recipe
    from kg.rows.trial_rows import ProblemRow
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareTree
    from kg.triples.names import Names
    from kg.triples.queries import NamedQuery
    from kg.triples.remote.publication import GraphPublication
    from kg.triples.validation import Violation
    from recommender.store.base import Base
    from recommender.store.bases.replay import RebaseResult
    from recommender.store.lineage import Lineage
    from recommender.store.lists.coverage import Coverage
    from recommender.store.lists.listings import QueryRows
    from recommender.store.lists.name_lists import NameList
    from recommender.store.merging import MergeResult
    from recommender.store.snapshot import WorkspaceSnapshot
    from recommender.store.upkeep.backup import Backup
    from recommender.store.writing.writer import Additions


def _now() -> datetime:
    return datetime.now(UTC)


class WorkspaceContents:
    """The contents of one snapshot of a workspace.

    Attributes:
        snapshot: The state that is read.
    """

    def __init__(self, snapshot: WorkspaceSnapshot) -> None:
        self.snapshot = snapshot

    @property
    def graph(self) -> GraphStore:
        """The knowledge, and the problems."""
        return self.snapshot.graph

    @property
    def batch(self) -> int:
        """Number of the newest acknowledged batch."""
        return self.snapshot.batch

    @property
    def trials(self) -> TrialStore:
        """The measured rows."""
        return self.snapshot.trials

    @property
    def hardware(self) -> HardwareTree:
        """Devices and their facts."""
        return self.snapshot.hardware

    @property
    def names(self) -> Names:
        """Resolves the names of hardware and models."""
        return self.snapshot.names

    @property
    def encoder(self) -> ProblemEncoder:
        """Makes vectors of problems."""
        return self.snapshot.encoder

    @property
    def index(self) -> ProblemIndex:
        """Vectors of the known problems."""
        return self.snapshot.index

    @property
    def text_model(self) -> str | None:
        """Name of the text model; None for structured features alone."""
        return creation.text_model(self.snapshot.manifest)

    @property
    def knowledge_version(self) -> str:
        """Identifier of everything that answers rest on."""
        return self.snapshot.knowledge_version

    def model_facts(self, problem: Problem) -> dict[str, float | str]:
        """Return facts and architecture of a problem's model; without it, the sizes in the problem."""
        return self.snapshot.model_facts(problem)

    def operator(self, name: str) -> KnownOperator:
        """Return the kind and the usual objective of an operator, from its cases.

        Raises:
            UnknownEntityError: No case has it.
        """
        return listings.known_operator(self.graph, self.trials, name)

    def stats(self) -> dict[str, Any]:
        """Count nouns, cases, rows and triples."""
        return {
            **listings.count(self.graph, self.trials),
            "batches": self.batch,
            "text_model": self.text_model,
            "knowledge_version": self.knowledge_version,
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

    def coverage(self, *, most: int = 10) -> Coverage:
        """Find thin evidence, repeated rows, and the most useful next measurements."""
        from recommender.store.lists.coverage import coverage

        return coverage(self.graph, self.trials, self.hardware, most=most)

    def recipes(self, **wanted: str) -> list[Recipe]:
        """Recipes by model, hardware, role, framework and family, of which any may be missing."""
        from recommender.store.recipes import recipes

        return recipes(self.graph, self.names, self.hardware, **wanted)

    def validate(self) -> list[Violation]:
        """List where the knowledge breaks its SHACL shapes; a circle of causes is a violation too."""
        from kg.triples.validation import knowledge_violations

        return knowledge_violations(self.graph)

    def check(self) -> list[CheckResult]:
        """Check that graph, trials, vectors and index are intact and in step; read all of the index."""
        findings = list(check_agreement(self.graph, self.trials, self.index))
        faults = self.index.verify()
        findings.append(
            CheckResult(
                about="index",
                severity=Severity.FAULT if faults else Severity.OK,
                says="; ".join(faults) or f"{len(self.index):,} vectors, whole",
                remedy="tunegraph doctor --repair" if faults else "",
            )
        )
        if self.age_note:
            findings.append(OLD_KNOWLEDGE)
        return findings

    @property
    def age_note(self) -> str:
        """Says that the program ships newer knowledge than the workspace was made with; empty if not."""
        if self.snapshot.manifest.get("shipped") in {None, shipped.version()}:
            return ""
        return f"{OLD_KNOWLEDGE.says}; tunegraph doctor says what to do"

    @property
    def lineage(self) -> Lineage:
        """The effects, the saved versions, and the next step of evolution."""
        from recommender.store.lineage import Lineage  # with the cost model, which an answer seldom needs

        return Lineage(layout=self.snapshot.layout, graph=self.graph, trials=self.trials, tree=self.hardware)

    def backup(self, file: Path) -> Backup:
        """Copy the workspace to a file; see ``recommender.store.upkeep.backup.back_up``."""
        from recommender.store.upkeep.backup import back_up

        return back_up(self.snapshot.layout, file)

    @staticmethod
    def restore(path: Path, file: Path) -> Backup:
        """Put a backup in the place of the workspace at ``path``; see ``recommender.store.upkeep.backup``."""
        from recommender.store.upkeep.backup import restore

        return restore(WorkspaceFiles(path), file)

    @staticmethod
    def create_on(path: Path, base: str, *, cache: Path, token: str = "") -> Base:
        """Make a workspace that rests on another; see ``recommender.store.bases.rebase.create_on``."""
        from recommender.store.bases.rebase import create_on

        return create_on(WorkspaceFiles(path), cache, base, clock=_now, token=token)

    @staticmethod
    def rebase(
        path: Path, base: str | None = None, *, cache: Path, token: str = "", again: bool = False
    ) -> RebaseResult:
        """Put a workspace on its base's newest state; see ``recommender.store.bases.rebase.rebase``."""
        from recommender.store.bases.rebase import rebase

        return rebase(WorkspaceFiles(path), cache, base, clock=_now, token=token, again=again)

    @staticmethod
    def push(path: Path, file: Path, *, cache: Path) -> tuple[Backup, Additions, tuple[str, ...]]:
        """Write what a workspace has above its base to a file; see ``recommender.store.bases.push.push``."""
        from recommender.store.bases.push import push

        return push(WorkspaceFiles(path), cache, file)

    @staticmethod
    def push_to(path: Path, address: str, *, cache: Path, token: str = "", label: str = "") -> MergeResult:
        """Send a server what a workspace has above its base; see ``recommender.store.bases.delivery``."""
        from recommender.store.bases.delivery import push_to

        return push_to(WorkspaceFiles(path), cache, address, token=token, label=label)

    def catalogue(self) -> list[NamedQuery]:
        """Return the named queries."""
        return list(CATALOGUE.values())

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

    def publish(
        self, address: str, *, token: str = "", knowledge_only: bool = False, force: bool = False
    ) -> GraphPublication:
        """Put the graph in the place of what a SPARQL 1.1 store holds, as one change.

        Raises:
            InputError: The store holds something else and ``force`` is not given.
            FetchError: It does not answer, or refuses.
        """
        from kg.rows.interchange import interchange
        from kg.triples.remote.publication import publish_graph
        from kg.triples.remote.store import RemoteStore
        from kg.triples.validation import knowledge_part

        triples = knowledge_part(self.graph) if knowledge_only else interchange(self.graph, self.trials)
        return publish_graph(RemoteStore(address, token), triples, force=force)

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

        return listings.write_cases(path, all_cases(self.graph, self.trials, wanted), form, force=force)
