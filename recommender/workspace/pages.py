"""Reports of what a workspace holds and answers."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import data
from ingest.questions.problem_file import read_problem_file
from kg.errors import InfeasibleError, InputError, NoEvidenceError, TuningError, UnknownEntityError
from recommender.answers.report_parts import part_of, printed_parts
from recommender.report.document import ReportDocument, ReportPart
from recommender.report.page import check_parts
from recommender.search.logged_search import LoggedSearch
from recommender.store import answered_questions
from recommender.store.experiments import StoredExperiments
from recommender.workspace.ask import AskDesk
from recommender.workspace.desk import Desk, OpenWorkspace
from recommender.workspace.profiles import ProfileDesk
from recommender.workspace.searches import SearchDesk

MOST_EXPERIMENTS = 5
"""A/B tests of a workspace that are shown unasked: the newest."""
_LARGEST_JSON = 64_000_000
"""Bytes up to which a JSON file is tried as what a command printed; a larger one is a trace. A choice."""
_PAGES, _QUESTIONS = frozenset({".html", ".htm"}), frozenset({".yaml", ".yml"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSources:
    """Sources that a report can be made of.

    Attributes:
        workspace: It, open.
        experiments: Its A/B tests.
        before: An earlier profile, beside which profiles are diagnosed; None without.
    """

    workspace: OpenWorkspace
    experiments: StoredExperiments
    before: Path | None = None

    def parts(self, what: str) -> list[ReportPart]:
        """The parts that a name stands for: a file, a folder, a log, an A/B test, a recommendation.

        Raises:
            InputError: It stands for nothing that a report shows.
        """
        path = Path(what)
        if "://" in what:
            return [part_of(LoggedSearch.open(what).report(base={}), what)]
        if path.exists():
            return self._of_file(path)
        if what in self.experiments.names():
            return [part_of(self.experiments.find(what), what)]
        try:
            return self.of_answer(what)
        except UnknownEntityError:
            raise InputError(
                f"{what}: no file, no A/B test and no remembered recommendation of this name",
                hint="a profile, a question file, the log of a search, what a command printed with --json",
            ) from None

    def of_answer(self, recommendation_id: str) -> list[ReportPart]:
        """The parts of the answer that holds a remembered recommendation.

        Raises:
            UnknownEntityError: None is remembered under this id.
        """
        question = answered_questions.question_of(self.workspace.snapshot.layout.questions, recommendation_id)
        return self._answered(json.loads(question.question), question.k, recommendation_id)

    def of_workspace(self, folder: Path) -> list[ReportPart]:
        """Report parts of a workspace: its newest answer and A/B tests, and searches in a folder."""
        found: list[ReportPart] = []
        question = answered_questions.newest_question(self.workspace.snapshot.layout.questions)
        if question is not None:
            found += self._answered(json.loads(question.question), question.k, question.id)
        for path in sorted(folder.glob("*.journal")):
            found.append(part_of(LoggedSearch.open(str(path)).report(base={}), path.name))
        names = self.experiments.names()[-MOST_EXPERIMENTS:]
        return [*found, *(part_of(self.experiments.find(name), name) for name in names)]

    def _answered(self, raw: Mapping[str, object], k: int, source: str) -> list[ReportPart]:
        """The answer to a question and, where it is a plan of a model, what it is expected to bring."""
        ask = AskDesk(self.workspace)
        problem, notes = ask.questions.problem(raw)
        answer = ask.recommend(problem, k, notes=notes)
        parts = [part_of(answer, source)]
        if answer.plan is not None and answer.priced is not None and answer.plan.fits:
            with suppress(NoEvidenceError, InfeasibleError):  # then the answer stands alone
                parts.append(part_of(ask.predict(problem, k, notes=notes), source))
        return parts

    def _of_file(self, path: Path) -> list[ReportPart]:
        suffix = path.suffix.lower()
        if path.is_dir():
            return [self._diagnosis(path)]
        if suffix in _PAGES:
            return list(read_document(path).parts)
        if suffix in _QUESTIONS:
            return self._answered(read_problem_file(path), 5, path.name)
        if suffix == ".json" and path.stat().st_size < _LARGEST_JSON:
            found = printed_parts(path)
            return found if found is not None else [self._diagnosis(path)]
        try:
            return [part_of(LoggedSearch.open(str(path)).report(base={}), path.name)]
        except TuningError:
            return self._of_others(path)

    def _of_others(self, path: Path) -> list[ReportPart]:
        """A profile, or searches of another tool."""
        try:
            return [self._diagnosis(path)]
        except TuningError as fault:
            try:
                courses = SearchDesk(self.workspace).of_other_tools(path)
            except TuningError:
                raise InputError(
                    f"{path}: neither a profile nor the log of a search ({fault})",
                    hint="a page or JSON of ours ends in .html or .json, a question in .yaml",
                ) from None
            return [part_of(course, title) for title, course in courses.items()]

    def _diagnosis(self, path: Path) -> ReportPart:
        return part_of(ProfileDesk(self.workspace).diagnose(path, before=self.before), path.name or str(path))


def read_document(path: Path) -> ReportDocument:
    """Read a report back from its page or its JSON file.

    Raises:
        InputError: It holds none, or one that cannot be shown.
    """
    document = ReportDocument.read(path)
    check_parts(document.parts, str(path))
    return document


PROGRAM = f"tunegraph {data.__version__}"
"""Program that a report names as its maker."""


class PagesDesk(Desk):
    """Reports of one snapshot of a workspace, and of results at hand."""

    __slots__ = ()

    def gather(
        self, *what: str | Path, before: Path | None = None, folder: Path | None = None, title: str = ""
    ) -> ReportDocument:
        """Gather a report: answers, diagnoses, searches, A/B tests, whatever the names stand for.

        Args:
            what: Files, folders, logs, A/B tests, recommendations; what the workspace holds if none is named.
            before: An earlier profile, beside which profiles are diagnosed.
            folder: Where logs of searches are looked for if nothing is named; nowhere if None.
            title: Of the page.

        Raises:
            InputError: A name stands for nothing, or there is nothing to report.
        """
        from recommender.answers.report_parts import document_of

        sources = ReportSources(workspace=self.workspace, experiments=self._tests(), before=before)
        parts = [part for name in what for part in sources.parts(str(name))]
        if not what:
            parts = sources.of_workspace(folder) if folder is not None else []
        if not parts:
            raise InputError(
                "nothing to report: no answer and no A/B test in the workspace, no log of a search here",
                hint="tunegraph report PROFILE, or ask first: tunegraph recommend",
            )
        return document_of(parts, program=PROGRAM, now=self.workspace.clock(), title=title)

    def of_answer(self, recommendation_id: str) -> ReportDocument:
        """A report of the answer that holds a remembered recommendation.

        Raises:
            UnknownEntityError: None is remembered under this id.
        """
        from recommender.answers.report_parts import document_of

        parts = ReportSources(workspace=self.workspace, experiments=self._tests()).of_answer(
            recommendation_id
        )
        return document_of(parts, program=PROGRAM, now=self.workspace.clock(), lists_missing=False)

    @staticmethod
    def of(*results: object, source: str = "", now: datetime | None = None) -> ReportDocument:
        """A report of results at hand: answers, predictions, diagnoses, estimates, searches, A/B tests.

        Args:
            results: What to show.
            source: Where they are from.
            now: The time; of the clock if None.
        """
        from recommender.answers.report_parts import document_of, part_of

        parts = [part_of(result, source) for result in results]
        return document_of(parts, program=PROGRAM, now=now or datetime.now(UTC), lists_missing=False)

    @staticmethod
    def read(path: Path) -> ReportDocument:
        """Read a report back from its page or its JSON file.

        Raises:
            InputError: It holds none, or one that cannot be shown.
        """
        return read_document(path)

    def _tests(self) -> StoredExperiments:
        return StoredExperiments(self.workspace.layout.experiments, self.workspace.layout.questions)
