"""Reports of what a workspace holds and answers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import data
from kg.errors import InputError
from recommender.store.views.carbon import WorkspaceCarbon

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recommender.answers.answer import Answer
    from recommender.report.document import ReportDocument
    from recommender.store.experiments import StoredExperiments
    from recommender.store.release_diff import ReleaseDiff

PROGRAM = f"tunegraph {data.__tunegraph__}"
"""What a report says that it was made by."""


class WorkspacePages(WorkspaceCarbon):
    """Reports of one snapshot of a workspace, and of results at hand."""

    def report(
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
        from recommender.store.views.report_sources import ReportSources

        sources = ReportSources(answers=self, experiments=self._tests(), before=before)
        parts = [part for name in what for part in sources.parts(str(name))]
        if not what:
            parts = sources.of_workspace(folder) if folder is not None else []
        if not parts:
            raise InputError(
                "nothing to report: no answer and no A/B test in the workspace, no log of a search here",
                hint="tunegraph report PROFILE, or ask first: tunegraph recommend",
            )
        return document_of(parts, program=PROGRAM, now=self._clock(), title=title)

    def report_of_answer(self, recommendation_id: str) -> ReportDocument:
        """A report of the answer that holds a remembered recommendation.

        Raises:
            UnknownEntityError: None is remembered under this id.
        """
        from recommender.answers.report_parts import document_of
        from recommender.store.views.report_sources import ReportSources

        parts = ReportSources(answers=self, experiments=self._tests()).of_answer(recommendation_id)
        return document_of(parts, program=PROGRAM, now=self._clock(), lists_missing=False)

    @staticmethod
    def report_of(*results: object, source: str = "", now: datetime | None = None) -> ReportDocument:
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
    def read_report(path: Path) -> ReportDocument:
        """Read a report back from its page or its JSON file.

        Raises:
            InputError: It holds none, or one that cannot be shown.
        """
        from recommender.store.views.report_sources import read_document

        return read_document(path)

    def _tests(self) -> StoredExperiments:
        from recommender.store.experiments import StoredExperiments

        return StoredExperiments(self.layout.experiments, self.layout.questions)

    def release_diff(self, text: str) -> ReleaseDiff:
        """What a change of release makes of the questions asked; see ``recommender.store.release_diff``."""
        from kg.rows.answers import AnswerFile
        from recommender.store.release_diff import release_diff

        def ask(raw: Mapping[str, object]) -> Answer:
            problem, notes = self.problem(raw)
            return self.recommend(problem, notes=notes)

        return release_diff(text, AnswerFile(self.snapshot.layout.questions).all_questions(), ask)
