"""The A/B tests of a workspace, and the way of their outcomes into its graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.errors import InputError
from recommender.answers.verification import problem_subject
from recommender.experiment.testing import Experiments, Lesson, conclusions_of, is_conclusive, state_of
from recommender.store.answered_questions import subject_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from kg.nouns.entities import Problem
    from kg.triples.graph import GraphStore
    from recommender.experiment.journal import Logged
    from recommender.experiment.metadata import ExperimentSubject
    from recommender.store.editor import Editor


@dataclass(frozen=True, slots=True)
class WorkspaceExperiments(Experiments):
    """The A/B tests of an open workspace.

    Attributes:
        memory: The file of remembered recommendations.
        graph: Knows strategies.
        problem: Reads a question as people put it.
        edit: The writing side of the workspace.
        clock: Tells the time.
    """

    memory: Path
    graph: GraphStore
    problem: Callable[[Mapping[str, object]], tuple[Problem, tuple[str, ...]]]
    edit: Callable[[], Editor]
    clock: Callable[[], datetime]

    def subject(
        self, *, recommendation: str = "", question: Mapping[str, object] | None = None, strategy: str = ""
    ) -> ExperimentSubject | None:
        """The subject of a test: a recommendation, or a strategy or settings on a problem.

        Args:
            recommendation: Id of a remembered recommendation; it has its own problem and strategy.
            question: The problem as people put it.
            strategy: Id of the strategy that is tried on it.

        Returns:
            None where nothing is given.

        Raises:
            UnknownEntityError: No such recommendation is remembered, or no such strategy known.
            InputError: Both a recommendation and a problem are given, or a strategy without either.
        """
        if recommendation:
            if question is not None or strategy:
                raise InputError(
                    "a recommendation has its problem and strategy", hint="leave those options out"
                )
            return subject_of(self.memory, recommendation)
        if question is None:
            if strategy:
                raise InputError("--strategy needs to know on what it was tried", hint="--problem FILE")
            return None
        return problem_subject(self.graph, question, self.problem(question)[0], strategy)

    def tell(self, logged: Logged) -> Lesson | None:
        """Teach the graph the outcome of a test; None where it says nothing, or not yet.

        Raises:
            WorkspaceError: Another process is writing.
        """
        state, subject = state_of(logged), logged.about.subject
        if subject is None or not is_conclusive(logged, state):
            return None
        problem, _ = self.problem(subject.question)
        conclusions = conclusions_of(logged, state, problem, self.clock())
        with self.edit() as editor:
            rows = editor.add_outcomes(conclusions).rows
        strategies = tuple(item.outcome.strategy for item in conclusions if item.outcome.strategy)
        return Lesson(rows=rows, strategies=strategies)
