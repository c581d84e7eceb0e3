"""The A/B tests of a workspace, and the way of their outcomes into its graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from recommender.experiment.metadata import problem_subject
from recommender.experiment.testing import Experiments, Lesson, conclusions_of, is_conclusive, state_of
from recommender.files import WorkspaceFiles
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
class StoredExperiments(Experiments):
    """The A/B tests of a workspace that need not be open.

    Attributes:
        memory: The file of remembered recommendations.
    """

    memory: Path

    @classmethod
    def at(cls, path: Path) -> Self:
        """The A/B tests of the workspace at ``path``, which need not be open."""
        files = WorkspaceFiles(path)
        return cls(files.experiments, files.questions)

    def of_recommendation(self, recommendation: str) -> ExperimentSubject:
        """The subject of a test that tries a remembered recommendation on its problem.

        Raises:
            UnknownEntityError: None begins with this id, or several do.
        """
        return subject_of(self.memory, recommendation)


@dataclass(frozen=True, slots=True)
class WorkspaceExperiments(StoredExperiments):
    """The A/B tests of an open workspace.

    Attributes:
        graph: Knows strategies.
        problem: Reads a question as people put it.
        edit: The writing side of the workspace.
        clock: Tells the time.
    """

    graph: GraphStore
    problem: Callable[[Mapping[str, object]], tuple[Problem, tuple[str, ...]]]
    edit: Callable[[], Editor]
    clock: Callable[[], datetime]

    def of_problem(self, question: Mapping[str, object], strategy: str = "") -> ExperimentSubject:
        """The subject of a test on a problem as people put it, of a strategy or of settings alone.

        Raises:
            UnknownEntityError: No such strategy is known.
            InputError: The question is wrong.
        """
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
