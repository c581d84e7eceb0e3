"""The files of a workspace, open for reading, and what answers questions from them."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from embeddings.index import ProblemIndex
from kg.nouns.values import digest
from kg.rows.trials import TrialStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.model_facts import model_facts
from kg.triples.names import Names
from kg.triples.serialisation import newest_batch
from kg.triples.snapshots import newest, open_newest
from recommender.answers.recommend import Recommender
from recommender.calibration.outlook import Outlook
from recommender.calibration.reliability import Reliability
from recommender.calibration.response import ResponseModels
from recommender.calibration.similarity import Similarity
from recommender.evolution import components
from recommender.files import WorkspaceFiles
from recommender.ranking.cases.circumstances import CIRCUMSTANCES
from recommender.ranking.cases.ranker import Ranker
from recommender.ranking.cases.recommendations import CaseChooser
from recommender.ranking.changes.strategies import StrategyRanker
from recommender.ranking.feasibility.exclusions import Exclusions
from recommender.ranking.feasibility.feasibility import FeasibilityRules
from recommender.ranking.feasibility.task_history import TrialFailures
from recommender.retrieval.neighbours import Retriever
from recommender.store import creation
from recommender.store.encoding import problem_encoder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from embeddings.encoder import ProblemEncoder
    from kg.nouns.entities import Problem
    from recommender.backtest.subset import SubsetRanker


def _now() -> datetime:
    return datetime.now(UTC)


class WorkspaceReader:
    """A workspace's files, open for reading.

    Args:
        path: Its directory.
        cache: The user's cache directory, where text models are.
        clock: Tells the time, with its time zone.

    Raises:
        WorkspaceError: There is none, it is damaged, or it is of another version.
    """

    def __init__(self, path: Path, *, cache: Path, clock: Callable[[], datetime] = _now) -> None:
        self.layout = WorkspaceFiles(path)
        self._cache = cache
        self._clock = clock
        self._manifest = self.layout.read()
        self._open()

    @classmethod
    def open(cls, path: Path, *, cache: Path) -> Self:
        """Open a workspace for reading."""
        return cls(path, cache=cache)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files."""
        self.index.close()
        self.trials.close()
        self.graph.close()

    def refresh(self) -> None:
        """See what was acknowledged since the workspace was opened."""
        self.close()
        for name in ("knowledge_version", "_retriever", "_recommender"):
            self.__dict__.pop(name, None)
        self._open()

    @property
    def text_model(self) -> str | None:
        """Name of the text model; None for structured features alone."""
        return creation.text_model(self._manifest)

    @cached_property
    def knowledge_version(self) -> str:
        """Identifier of what answers rest on.

        That is the newest acknowledged batch, the shipped knowledge, and what was learned of its own cases.
        """
        learned = [p.read_bytes() for p in (self.layout.similarity, self.layout.outlook) if p.is_file()]
        own = f"-{digest(*(part.decode() for part in learned))[:6]}" if learned else ""
        return f"{self.batch}-{self._manifest.get('shipped') or 'own'}{own}"

    def model_facts(self, problem: Problem) -> dict[str, float | str]:
        """Facts of the model of a question, with its architecture: the graph's, or the sizes it tells."""
        return model_facts(self.graph, problem)

    def subset(
        self, known: Mapping[int, Problem], *, hides_tasks: bool = False, tasks: frozenset[str] = frozenset()
    ) -> SubsetRanker:
        """What answers from some of the problems alone, for backtests; see the class for the arguments."""
        from recommender.backtest.subset import SubsetRanker

        row_of = {key: row for row, key in enumerate(self.index.keys(self.batch).tolist())}
        rows = np.array([row_of[key] for key in known], np.int64)
        return SubsetRanker(
            known,
            self.trials,
            self.hardware,
            self.encoder,
            Reliability.load(self.layout.calibration),
            Similarity.load(self.layout.similarity),
            vectors=self.index.vectors(rows),
            hides_tasks=hides_tasks,
            tasks=tasks,
        )

    @cached_property
    def _retriever(self) -> Retriever:
        return Retriever(
            trials=self.trials,
            index=self.index,
            encoder=self.encoder,
            tree=self.hardware,
            similarity=Similarity.load(self.layout.similarity),
        )

    @cached_property
    def _recommender(self) -> Recommender:
        models = ResponseModels.load(self.layout.models)
        ranker = Ranker(self.trials, self.hardware, models, Reliability.load(self.layout.calibration))
        outlook = Outlook.load(self.layout.outlook, CIRCUMSTANCES)
        return Recommender(
            retriever=self._retriever,
            cases=CaseChooser(ranker, self.graph, self.knowledge_version, outlook),
            strategies=StrategyRanker(self.graph, self.hardware, components.load(self.layout.components)),
            feasibility=FeasibilityRules(
                self.hardware, self.trials, TrialFailures(self.trials), Exclusions(self.graph)
            ),
            version=self.knowledge_version,
        )

    def _open(self) -> None:
        with ExitStack() as undo:
            self.graph = undo.enter_context(open_newest(self.layout.graph))
            self._snapshot = newest(self.layout.graph) or self.layout.live
            self.batch = newest_batch(self.graph)
            self.trials = undo.enter_context(
                TrialStore(self.layout.trials, read_only=True, acknowledged=self.batch)
            )
            self.hardware = HardwareTree(self.graph)
            self.names = Names(self.graph, self.hardware)
            self.encoder: ProblemEncoder = problem_encoder(
                self.hardware, self.layout, self._cache, self.text_model, read_only=False
            )
            self.index = ProblemIndex(
                self.layout.root, self.encoder.dimension, self.encoder.hash, read_only=True
            )
            undo.pop_all()
