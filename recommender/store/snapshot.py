"""One acknowledged state of a workspace, open for reading, with what answers questions from it."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from embeddings.encoder import ProblemEncoder
from embeddings.index import ProblemIndex
from kg.nouns.entities import Problem
from kg.rows.trials import TrialStore
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.model_facts import model_facts
from kg.triples.names import Names
from kg.triples.serialisation import TABLES, newest_batch
from kg.triples.snapshots import newest, open_newest
from kg.triples.vocabulary import RDF_TYPE
from recommender.answers.recommend import Recommender
from recommender.calibration.outlook import Outlook
from recommender.calibration.response import ResponseModels
from recommender.calibration.similarity import Similarity
from recommender.cost_model.anchors import Anchors
from recommender.evolution import components
from recommender.files import LearnedFiles, WorkspaceFiles
from recommender.ranking.cases.circumstances import CIRCUMSTANCES
from recommender.ranking.cases.ranker import Ranker
from recommender.ranking.cases.recommendations import CaseChooser
from recommender.ranking.changes.strategies import StrategyRanker
from recommender.ranking.feasibility.exclusions import Exclusions
from recommender.ranking.feasibility.feasibility import FeasibilityRules
from recommender.ranking.feasibility.task_history import TrialFailures
from recommender.ranking.measured.near_runs import NearRuns
from recommender.ranking.plan.planner import Planner
from recommender.ranking.plan.start_tests import StartTests
from recommender.ranking.starts.finder import StartFinder
from recommender.retrieval.neighbours import Retriever
from recommender.store import creation
from recommender.store.encoding import problem_encoder


@dataclass(frozen=True, kw_only=True)  # no slots: cached properties need a dictionary
class WorkspaceSnapshot:
    """The newest acknowledged state of a workspace when it was opened; it never changes.

    A reader that wants a newer state opens another snapshot and closes this one.

    Attributes:
        layout: Files of the workspace.
        manifest: Content of its manifest.
        folder: Folder of the published graph.
        graph: The knowledge, and the problems.
        batch: Number of the newest acknowledged batch.
        trials: The measured rows up to that batch.
        hardware: Devices and their facts.
        names: Resolves the names of hardware and models.
        encoder: Makes vectors of problems.
        index: Vectors of the known problems.
    """

    layout: WorkspaceFiles
    manifest: Mapping[str, object]
    folder: Path
    graph: GraphStore
    batch: int
    trials: TrialStore
    hardware: HardwareTree
    names: Names
    encoder: ProblemEncoder
    index: ProblemIndex

    @classmethod
    def open(cls, layout: WorkspaceFiles, cache: Path) -> Self:
        """Open the newest state.

        Args:
            layout: Files of the workspace.
            cache: The user's cache directory, where text models are.

        Raises:
            WorkspaceError: There is no workspace, it is damaged, or it is of another version.
        """
        manifest = layout.read()
        with ExitStack() as undo:
            graph = undo.enter_context(open_newest(layout.graph))
            folder = newest(layout.graph) or layout.live
            batch = newest_batch(graph)
            trials = undo.enter_context(TrialStore(layout.trials, read_only=True, acknowledged=batch))
            hardware = HardwareTree(graph)
            model = creation.text_model(manifest)
            encoder = problem_encoder(hardware, layout, cache, model, read_only=False)
            snapshot = cls(
                layout=layout,
                manifest=manifest,
                folder=folder,
                graph=graph,
                batch=batch,
                trials=trials,
                hardware=hardware,
                names=Names(graph, hardware),
                encoder=encoder,
                index=ProblemIndex(trials.file, layout.root, encoder.dimension, encoder.hash, read_only=True),
            )
            undo.pop_all()
        return snapshot

    def close(self) -> None:
        """Close the files."""
        self.trials.close()
        self.graph.close()

    @cached_property
    def learned(self) -> LearnedFiles:
        """Files of what was learned of the workspace's own cases, as of its batch."""
        return self.layout.learned(self.batch)

    @cached_property
    def knowledge_version(self) -> str:
        """Identifier of everything that answers rest on.

        It names the newest acknowledged batch and the shipped knowledge.
        """
        return f"{self.batch}-{self.manifest.get('shipped') or 'own'}"

    @cached_property
    def counts(self) -> dict[str, Any]:
        """Numbers of nouns, rows and triples."""
        classes = {
            table.noun.__name__: sum(1 for _ in self.graph.triples(None, RDF_TYPE, table.term))
            for table in TABLES.values()
            if table.term is not None
        }
        rows = self.trials.counts()
        return {
            "knowledge": {name: number for name, number in classes.items() if number},
            "cases": {
                "rows": rows.trials,
                "problems": rows.problems,
                "configurations": rows.configurations,
            },
            "rows_by_kind": {str(kind): number for kind, number in rows.kinds.items()},
            "rows_by_status": {str(status): number for status, number in rows.statuses.items()},
            "triples": len(self.graph),
        }

    def model_facts(self, problem: Problem) -> dict[str, float | str]:
        """Return facts and architecture of a problem's model; without it, the sizes in the problem."""
        return model_facts(self.graph, problem)

    @cached_property
    def retriever(self) -> Retriever:
        """Finds similar problems."""
        return Retriever(
            trials=self.trials,
            index=self.index,
            encoder=self.encoder,
            tree=self.hardware,
            similarity=Similarity.shipped(),
        )

    @cached_property
    def near_runs(self) -> NearRuns:
        """Finds measured runs near questions for the cost model."""
        own = Anchors.read(self.layout.anchors).steps if self.layout.anchors.exists() else ()
        return NearRuns(self.trials, self.graph, self.hardware, own)

    @cached_property
    def recommender(self) -> Recommender:
        """Answers problems with ranked configurations."""
        models = ResponseModels.load(self.layout.models)
        ranker = Ranker(self.trials, self.hardware, models)
        outlook = Outlook.shipped(CIRCUMSTANCES)
        shares = components.load(self.learned.components)
        strategies = StrategyRanker(self.graph, self.hardware, shares, self.trials)
        return Recommender(
            retriever=self.retriever,
            cases=CaseChooser(ranker, self.graph, self.knowledge_version, outlook),
            strategies=strategies,
            planner=Planner(
                starts=StartFinder(
                    self.graph,
                    self.hardware,
                    reliability=StartTests(self.graph, self.hardware, shares).reliability,
                    runs=self.near_runs,
                ),
                strategies=strategies,
                version=self.knowledge_version,
            ),
            feasibility=FeasibilityRules(
                self.hardware, self.trials, TrialFailures(self.trials), Exclusions(self.graph)
            ),
            version=self.knowledge_version,
        )
