"""Answers from a part of a workspace's problems, the others hidden: for questions whose truth is known."""

import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np

from embeddings.index import ProblemIndex
from embeddings.weights import BlockWeights
from kg.nouns.entities import Problem
from kg.rows.trial_rows import ProblemRow
from kg.rows.trials import TrialStore
from kg.rows.trials_file import open_file
from kg.triples.hardware_tree import HardwareTree
from recommender.calibration.mixture import ExpertMixture
from recommender.calibration.response import LEARNED_FROM, ResponseModel, ResponseModels
from recommender.calibration.similarity import Similarity
from recommender.ranking.cases.evidence import CaseQuestion
from recommender.ranking.cases.ranker import Ranker, Ranking
from recommender.ranking.feasibility.feasibility import by_rules
from recommender.retrieval.neighbours import Neighbour, Retriever
from recommender.store.snapshot import WorkspaceSnapshot


class _OnDemand:
    """Response models of some problems, trained when the first is asked."""

    def __init__(self, taught: Mapping[int, Problem], trials: TrialStore, tree: HardwareTree) -> None:
        self._taught = taught
        self._trials = trials
        self._tree = tree
        self._models: ResponseModels | None = None

    def of(self, problem: Problem) -> ResponseModel | None:
        """Return the model for a problem; None if too little is known to learn from."""
        if self._models is None:
            rows = sum(len(self._trials.table(key).costs) for key in self._taught)
            is_enough = rows >= LEARNED_FROM
            self._models = (
                ResponseModels.train(self._taught, self._trials, self._tree.facts)
                if is_enough
                else ResponseModels()
            )
        return self._models.of(problem)


class SubsetRanker:
    """Ranks configurations by what some problems of a workspace know; a context manager.

    Its parts are those that answer for the workspace; the index holds the known problems alone, and response
    models are trained on them where a workspace would train them.

    Args:
        snapshot: The workspace.
        known: Problems that may answer, by key.
        hides_tasks: Whether a question's own task is hidden wherever it ran.
        tasks: The tasks that are asked about, which models must not have seen; empty where they may.
        mixture: How far each expert is followed, without the asked hardware; what ships if None.
        left_out: The block weights to find the neighbours of a question with; the encoder's if None.
    """

    def __init__(
        self,
        snapshot: WorkspaceSnapshot,
        known: Mapping[int, Problem],
        *,
        hides_tasks: bool = False,
        tasks: frozenset[str] = frozenset(),
        mixture: ExpertMixture | None = None,
        left_out: Callable[[Problem], BlockWeights] | None = None,
    ) -> None:
        trials, tree = snapshot.trials, snapshot.hardware
        self._known = known
        self._hides_tasks = hides_tasks
        self._place = tempfile.TemporaryDirectory()
        self._open = ExitStack()
        row_of = {key: row for row, key in enumerate(snapshot.index.keys(snapshot.batch).tolist())}
        self._vectors = snapshot.index.vectors(np.array([row_of[key] for key in known], np.int64))
        self._left_out = left_out
        self._trials, self._tree, self._encoder = trials, tree, snapshot.encoder
        self._by_weights: dict[BlockWeights, Retriever] = {}
        self.taught = {key: item for key, item in known.items() if item.task_id not in tasks}
        self._ranker = Ranker(trials, tree, _OnDemand(self.taught, trials, tree), mixture)
        self._feasible = by_rules(tree.facts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        self._place.cleanup()

    def neighbours(self, problem: Problem) -> list[Neighbour]:
        """The nearest of the known problems."""

        def is_hidden(row: ProblemRow) -> bool:
            return row.key not in self._known or (self._hides_tasks and row.task_id == problem.task_id)

        weights = self._encoder.weights if self._left_out is None else self._left_out(problem)
        if weights not in self._by_weights:
            self._by_weights[weights] = self._retriever(weights)
        return self._by_weights[weights].find(problem, exclude=is_hidden)

    def _retriever(self, weights: BlockWeights) -> Retriever:
        """Return the retriever of neighbours among the known problems by these weights."""
        encoder, similarity, vectors = self._encoder, Similarity.shipped(), self._vectors
        if weights != encoder.weights:
            encoder, similarity = encoder.reweighted(weights), replace(similarity, weights=weights)
            vectors = vectors * self._encoder.factors(weights)
        place = Path(self._place.name) / str(len(self._by_weights))
        place.mkdir()
        file = open_file(place / "vectors.sqlite3", read_only=False)
        self._open.callback(file.close)
        index = ProblemIndex(file, place, encoder.dimension, encoder.hash)
        if self._known:
            with file.transaction():
                index.table.append(np.fromiter(self._known, np.int64), 1, vectors)
            index.catch_up()
        return Retriever(self._trials, index, encoder, self._tree, similarity)

    def rank(
        self,
        problem: Problem,
        k: int,
        question: CaseQuestion | None = None,
        *,
        neighbours: list[Neighbour] | None = None,
    ) -> Ranking:
        """The k configurations to try, best first.

        Args:
            problem: The question.
            k: How many at most.
            question: What is fixed and what is to be decided; everything is to be decided if None.
            neighbours: What :meth:`neighbours` gave for this problem, where it was asked already.
        """
        near = self.neighbours(problem) if neighbours is None else neighbours
        return self._ranker.rank(problem, near, question or CaseQuestion(), k, self._feasible, unseen=True)
