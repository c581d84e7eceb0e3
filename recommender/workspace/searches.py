"""Searches that start from what a workspace knows: spaces, search files, logs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from kg.errors import InputError
from recommender.workspace.ask import AskDesk
from recommender.workspace.desk import Desk
from recommender.workspace.questions import QuestionDesk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recommender.answers.space_making import SpaceMaker
    from recommender.search.logged_search import LoggedSearch
    from recommender.search.report.search_report import CourseReport
    from recommender.search.run.preparation import Prepared, SearchOptions
    from recommender.search.run.task_file import TaskFile
    from recommender.space.made.search_file import SearchFile
    from recommender.space.space import SearchSpace


class SearchDesk(Desk):
    """Searches of an open workspace."""

    __slots__ = ()

    @property
    def space(self) -> SpaceMaker:
        """Makes search files: layouts, kernels, run-time variables, or a file pruned by measurements."""
        from recommender.answers.space_making import SpaceMaker

        return SpaceMaker(
            graph=self.graph,
            names=self.names,
            hardware=self.hardware,
            trials=self.trials,
            problem=QuestionDesk(self.workspace).problem,
            similar=AskDesk(self.workspace).similar,
            decision=AskDesk(self.workspace).decision,
        )

    def begin(
        self, file: TaskFile | Mapping[str, object], *, log: str, **options: Unpack[SearchOptions]
    ) -> LoggedSearch:
        """Begin a search that starts from the tables of similar problems; needs Optuna.

        Args:
            file: A search file as :meth:`file` reads it, or its content (docs/search.md), run where you are.
            log: File or URL of its log.
            options: See ``recommender.search.run.preparation.SearchOptions``.

        Returns:
            The search; it needs the workspace no more.

        Raises:
            InputError: It is wrong, or the log holds such a search already.
        """
        from recommender.search.logged_search import LoggedSearch

        return LoggedSearch(self.prepare(file, **options).begin(log))

    def of_other_tools(self, path: Path, *, metric: str = "") -> dict[str, CourseReport]:
        """The courses of searches of another tool, by problem, in the order of the file.

        Args:
            path: Any file of measurements in their order.
            metric: Only this one; all if empty.

        Raises:
            InputError: No measurement of the metric could be read.
        """
        from ingest.reading import read
        from kg.nouns.entities import Case
        from recommender.search.report.history import histories_of
        from recommender.search.report.search_report import CourseReport

        cases = [item for item in read([path], self.names) if isinstance(item, Case)]
        if not cases:
            hint = "see why: tunegraph ingest --dry-run"
            raise InputError(f"{path}: no measurement could be read", hint=hint)
        histories = histories_of(cases, metric=metric)
        return {title: CourseReport(item) for title, item in histories.items() if item.evaluations}

    def prepare(self, file: TaskFile | Mapping[str, object], **options: Unpack[SearchOptions]) -> Prepared:
        """Prepare a search without beginning it; see :meth:`begin`."""
        from recommender.search.run.preparation import Tuner
        from recommender.search.run.task_file import TaskFile

        tuner = Tuner(
            graph=self.graph,
            names=self.names,
            hardware=self.hardware,
            trials=self.trials,
            retriever=lambda: self.snapshot.retriever,
            operator=QuestionDesk(self.workspace).operator,
            about=self.snapshot.near_runs.about,
        )
        return tuner.prepare(file if isinstance(file, TaskFile) else TaskFile(file), **options)

    def bounded(self, search_file: SearchFile, log: Path) -> SearchFile:
        """A search file with the bounds that a compiler told in a log.

        Raises:
            InputError: The log cannot be read, or tells no bound on a parameter of the file.
        """
        from kg.nouns.knowledge import FaultPattern
        from kg.triples.serialisation import all_of
        from recommender.diagnosis.logs import read_log
        from recommender.diagnosis.size_bounds import size_bounds
        from recommender.search.run.task_file import TaskFile

        reading = read_log(log, all_of(self.graph, FaultPattern))
        held = search_file.file.get("parameters")
        parameters = held if isinstance(held, dict) else {}
        rules = [
            {"expression": expression, "reason": bound.reason, "source": str(log)}
            for bound in size_bounds(reading)
            if (expression := bound.expression(parameters))
        ]
        if not rules:
            raise InputError(
                f"{log}: no bound on {', '.join(map(str, parameters)) or 'a parameter'}",
                hint="it takes a compiler's message of what is needed and there, and the sizes that failed:"
                " a line such as BLOCK_SIZE=4096",
            )
        stated = search_file.file.get("constraints")
        before = stated if isinstance(stated, list) else []
        notes = [*search_file.notes, *(f"bound: {rule['expression']} ({rule['reason']})" for rule in rules)]
        file = {**search_file.file, "constraints": [*before, *rules]}
        task = TaskFile(file)
        default = task.settings("default")
        if default is not None and task.space.violated(default) is not None:
            del file["default"]
            notes.append("the file's default is left out: it breaks that bound")
        return replace(search_file, file=file, notes=notes)

    @staticmethod
    def file(file: str) -> TaskFile:
        """A search file, or a shipped one by its name.

        Raises:
            InputError: There is no such file.
            CaseFormatError: It is no mapping in YAML or JSON.
        """
        from recommender.search.run.task_file import read_task_file

        return read_task_file(file)

    @staticmethod
    def declared_space(file: str) -> tuple[SearchSpace, dict[str, object]]:
        """The space that a search file declares, and the question that it names beside it.

        Raises:
            InputError: There is no such file, or its parameters or constraints are wrong.
            CaseFormatError: It is no mapping in YAML or JSON.
        """
        from recommender.search.run.task_file import read_task_file

        content = read_task_file(file)
        return content.space, content.problem() or {}

    @staticmethod
    def open(log: str, name: str = "") -> LoggedSearch:
        """A search that was begun, by its journal or the URL of its database; see ``LoggedSearch.open``.

        Raises:
            InputError: There is none, or several and no name.
        """
        from recommender.search.logged_search import LoggedSearch

        return LoggedSearch.open(log, name)
