"""Reports of what a workspace holds and answers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import data
from kg.errors import InputError
from recommender.store.experiments import StoredExperiments
from recommender.workspace.desk import Desk
from recommender.workspace.report_sources import ReportSources, read_document

if TYPE_CHECKING:
    from pathlib import Path

    from recommender.report.document import ReportDocument

PROGRAM = f"tunegraph {data.__version__}"
"""What a report says that it was made by."""


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
