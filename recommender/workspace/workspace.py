"""The workspace: everything the command line can do, for programs.

A reader sees the newest published snapshot; :meth:`Workspace.edit` takes the lock and writes. The verbs of
every day are methods; the rest stands at the desks.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self, Unpack

from kg.nouns.entities import Problem
from recommender.files import WorkspaceFiles
from recommender.store import creation
from recommender.store.snapshot import WorkspaceSnapshot
from recommender.workspace.ask import AskDesk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ingest.profiles.facts.run import Profile
    from kg.nouns.audit import AuditRule
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareTree
    from kg.triples.names import Names
    from recommender.answers.answer import Answer
    from recommender.answers.benefit import Prediction
    from recommender.answers.diagnose import DiagnosisAnswer
    from recommender.answers.estimate import Estimate
    from recommender.answers.explanation.explanation import Explanation
    from recommender.audit.audit import Audit
    from recommender.report.document import ReportDocument
    from recommender.retrieval.neighbours import Neighbour
    from recommender.search.logged_search import LoggedSearch
    from recommender.search.run.preparation import SearchOptions
    from recommender.search.run.task_file import TaskFile
    from recommender.space.space import SearchSpace
    from recommender.store.editor import Editor
    from recommender.store.experiments import WorkspaceExperiments
    from recommender.store.ingestion import IngestSummary, Options
    from recommender.workspace.grids import CarbonDesk
    from recommender.workspace.knowledge import KnowledgeDesk
    from recommender.workspace.launches import LaunchDesk
    from recommender.workspace.pages import PagesDesk
    from recommender.workspace.profiles import ProfileDesk
    from recommender.workspace.searches import SearchDesk
    from recommender.workspace.tuning import TuneDesk
    from recommender.workspace.upkeep import UpkeepDesk

    Asked = Problem | Mapping[str, object]


def _now() -> datetime:
    return datetime.now(UTC)


class Workspace:
    """A workspace, open for reading; a context manager.

    A question is a :class:`Problem`, or a mapping of its facts as people put them (docs/asking.md).

    Args:
        path: Its directory.
        cache: The user's cache directory, where text models are.
        clock: Tells the time, with its time zone.

    Attributes:
        layout: Its files.
        snapshot: The state that is read.

    Raises:
        WorkspaceError: There is none, it is damaged, or it is of another version.
    """

    def __init__(self, path: Path, *, cache: Path, clock: Callable[[], datetime] = _now) -> None:
        self.layout = WorkspaceFiles(path)
        self.cache = cache
        self.clock = clock
        self.snapshot = WorkspaceSnapshot.open(self.layout, cache)

    @classmethod
    def open(cls, path: Path, *, cache: Path) -> Self:
        """Open a workspace for reading."""
        return cls(path, cache=cache)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self.snapshot.close()

    def without_documents(self, addresses: str) -> None:
        """Plan until :meth:`refresh` as if the recipes of documents had never been read.

        Args:
            addresses: Pattern that is looked for in their addresses.
        """
        found = (item for item in self.knowledge.recipes() if re.search(addresses, item.source.url))
        self.snapshot.recommender.planner.starts.withhold(frozenset(item.id for item in found))

    def refresh(self) -> None:
        """Read on from the newest acknowledged state."""
        snapshot = WorkspaceSnapshot.open(self.layout, self.cache)
        self.snapshot.close()
        self.snapshot = snapshot

    @staticmethod
    def exists(path: Path) -> bool:
        """Return whether ``path`` holds a workspace."""
        return WorkspaceFiles(path).exists()

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        cache: Path,
        text_model: str | None = "",
        with_shipped: bool = True,
        clock: Callable[[], datetime] = _now,
        on_step: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Make a workspace.

        Args:
            path: Its directory; made if it does not exist.
            cache: The user's cache directory.
            text_model: Name of the text model; None for structured features alone; empty for the default.
            with_shipped: Fill it with the shipped knowledge and cases.
            clock: Tells the time.
            on_step: Called with what begins, in words.

        Raises:
            WorkspaceError: The directory holds something else, or cannot be written.
            MissingDependencyError: The text model cannot be had here.
        """
        creation.create(
            WorkspaceFiles(path),
            cache,
            text_model=text_model,
            with_shipped=with_shipped,
            clock=clock,
            on_step=on_step,
        )

    def edit(self, *, command: str = "") -> Editor:
        """Return the writing side; enter it to take the lock."""
        return self.editor(self.layout.root, cache=self.cache, command=command, clock=self.clock)

    @staticmethod
    def editor(
        path: Path,
        *,
        cache: Path,
        command: str = "",
        clock: Callable[[], datetime] = _now,
    ) -> Editor:
        """Return the writing side of a workspace, which need not be readable.

        Entering it mends what a crash or another encoder left.

        Raises:
            WorkspaceError: There is no workspace, or it is of another version.
        """
        return creation.editor_at(path, cache, clock, command=command)

    @property
    def graph(self) -> GraphStore:
        """The knowledge, and the problems."""
        return self.snapshot.graph

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
    def ask(self) -> AskDesk:
        """Questions and their answers."""
        return AskDesk(self)

    @property
    def launches(self) -> LaunchDesk:
        """Launches that run, judged and answered."""
        from recommender.workspace.launches import LaunchDesk

        return LaunchDesk(self)

    @property
    def profiles(self) -> ProfileDesk:
        """Profiles and logs."""
        from recommender.workspace.profiles import ProfileDesk

        return ProfileDesk(self)

    @property
    def knowledge(self) -> KnowledgeDesk:
        """The desk of the knowledge: counted, queried, joined, exported."""
        from recommender.workspace.knowledge import KnowledgeDesk

        return KnowledgeDesk(self)

    @property
    def searches(self) -> SearchDesk:
        """Searches, their spaces and files."""
        from recommender.workspace.searches import SearchDesk

        return SearchDesk(self)

    @property
    def experiments(self) -> WorkspaceExperiments:
        """The A/B tests: begin, run, record, find and tell them."""
        from recommender.store.experiments import WorkspaceExperiments

        return WorkspaceExperiments(
            self.layout.experiments,
            self.layout.questions,
            graph=self.graph,
            problem=self.ask.questions.problem,
            edit=lambda: self.edit(command="ab"),
            clock=self.clock,
        )

    @property
    def tuning(self) -> TuneDesk:
        """Tunes of scripts: planned, run, told."""
        from recommender.workspace.tuning import TuneDesk

        return TuneDesk(self)

    @property
    def green(self) -> CarbonDesk:
        """The grids, and answers that choose by them."""
        from recommender.workspace.grids import CarbonDesk

        return CarbonDesk(self)

    @property
    def pages(self) -> PagesDesk:
        """The desk of reports."""
        from recommender.workspace.pages import PagesDesk

        return PagesDesk(self)

    @property
    def upkeep(self) -> UpkeepDesk:
        """Checks, backups, bases, and what the workspace learns of itself."""
        from recommender.workspace.upkeep import UpkeepDesk

        return UpkeepDesk(self)

    def problem(self, question: Asked) -> tuple[Problem, tuple[str, ...]]:
        """Read a question; return it with notes on assumptions. See :meth:`AskDesk.problem`."""
        return (question, ()) if isinstance(question, Problem) else self.ask.questions.problem(question)

    def recommend(
        self, question: Asked, k: int = 5, *, notes: Sequence[str] = (), space: SearchSpace | None = None
    ) -> Answer:
        """Recommend k changes or configurations, best first. See :meth:`AskDesk.recommend`.

        Where a measured run is kept as it was, what its settings cost is found as for a launch; of a
        run near by, what only costs is not copied.
        """
        problem, assumed = self.problem(question)
        answer = self.ask.recommend(problem, k, notes=(*notes, *assumed), space=space)
        if answer.plan is None:
            return answer
        if answer.plan.start.is_measured:
            return self.launches.of_measured(answer)
        without = self.launches.without_copied(answer)
        return answer if without is None else self.ask.recommend(without, k, notes=(*notes, *assumed))

    def check(
        self,
        script: str,
        question: Mapping[str, object] | None = None,
        *,
        rules: Sequence[AuditRule] = (),
        to: tuple[str, str] | None = None,
    ) -> Audit:
        """Judge the settings of a launch script, given as its text. See :meth:`LaunchDesk.check`."""
        from ingest.questions.launches.launch import read_launch
        from ingest.questions.launches.running import running_settings

        raw = {**read_launch(script, "script").question, **(question or {})}
        return self.launches.check(raw, running_settings(script), rules=rules, to=to)

    def predict(self, question: Asked, k: int = 5, *, notes: Sequence[str] = ()) -> Prediction:
        """Predict throughput, memory, energy and carbon of an answer. See :meth:`AskDesk.predict`."""
        problem, assumed = self.problem(question)
        return self.ask.predict(problem, k, notes=(*notes, *assumed))

    def estimate(
        self, question: Mapping[str, object], *, phase: str = "", settings: Mapping[str, object] | None = None
    ) -> Estimate:
        """Estimate a step by the cost model. See :meth:`AskDesk.estimate`."""
        return self.ask.estimate(question, phase=phase, settings=settings)

    def similar(self, question: Asked, k: int = 10) -> list[Neighbour]:
        """Return the k nearest known problems. See :meth:`AskDesk.similar`."""
        return self.ask.similar(self.problem(question)[0], k)

    def explain(self, recommendation_id: str) -> Explanation:
        """Explain a remembered recommendation. See :meth:`AskDesk.explain`."""
        return self.ask.explain(recommendation_id)

    def remember(self, answer: Answer, raw: Mapping[str, object], k: int) -> bool:
        """Keep which question an answer is to. See :meth:`AskDesk.remember`."""
        return self.ask.remember(answer, raw, k)

    def diagnose(self, profile: Path | Profile, *, hardware: str = "", model: str = "") -> DiagnosisAnswer:
        """Diagnose a profile. See :meth:`ProfileDesk.diagnose`."""
        return self.profiles.diagnose(profile, hardware=hardware, model=model)

    def search(
        self, file: TaskFile | Mapping[str, object], *, log: str, **options: Unpack[SearchOptions]
    ) -> LoggedSearch:
        """Begin a search that starts from similar problems. See :meth:`SearchDesk.begin`."""
        return self.searches.begin(file, log=log, **options)

    def report(self, *what: str | Path, title: str = "") -> ReportDocument:
        """Gather a report. See :meth:`PagesDesk.gather`."""
        return self.pages.gather(*what, title=title)

    def ingest(self, *paths: Path, options: Options | None = None) -> IngestSummary:
        """Take in files and folders, and see them."""
        with self.edit(command="ingest") as editor:
            summary = editor.ingest(paths, options=options)
        self.refresh()
        return summary
