"""The workspace: everything the command line can do, for programs.

A reader sees the newest published snapshot; :meth:`Workspace.edit` takes the lock and writes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from kg.errors import InputError
from recommender.files import WorkspaceFiles
from recommender.store import creation
from recommender.store.snapshot import WorkspaceSnapshot
from recommender.store.views.pages import WorkspacePages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import date
    from pathlib import Path

    from ingest.corpora.corpus import Corpus
    from recommender.answers.sensitivity import LayerSensitivity
    from recommender.backtest.recalibration import Recalibration
    from recommender.cost_model.operators.kinds import Operators
    from recommender.search.logged_search import LoggedSearch
    from recommender.space.space import SearchSpace
    from recommender.store.editor import Editor
    from recommender.store.experiments import StoredExperiments, WorkspaceExperiments
    from recommender.store.ingestion import IngestSummary, Options
    from recommender.store.inspection import CheckResult
    from recommender.store.merging import MergeResult


def _now() -> datetime:
    return datetime.now(UTC)


class Workspace(WorkspacePages):
    """A workspace, open for reading; a context manager.

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
        super().__init__(WorkspaceSnapshot.open(self.layout, cache))

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

    def refresh(self) -> None:
        """Read on from the newest acknowledged state."""
        snapshot = WorkspaceSnapshot.open(self.layout, self._cache)
        self.snapshot.close()
        self.snapshot = snapshot

    def keep_completions(self) -> None:
        """Write the names that a shell completes where they are missing; writers keep them up to date."""
        if not self.layout.completions.exists():
            from recommender.store.writing.completions import keep_completions

            keep_completions(self.layout, self.snapshot.graph, self.snapshot.trials)

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
            text_model: Name of the text model; None for structured features alone; the default where
                it can be had if empty.
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

    def edit(self, *, command: str = "", durable: bool = False) -> Editor:
        """Return the writing side; enter it to take the lock."""
        return self.editor(
            self.layout.root, cache=self._cache, command=command, durable=durable, clock=self._clock
        )

    @staticmethod
    def editor(
        path: Path,
        *,
        cache: Path,
        command: str = "",
        durable: bool = False,
        clock: Callable[[], datetime] = _now,
    ) -> Editor:
        """Return the writing side of a workspace, which need not be readable.

        Entering it mends what a crash or another encoder left.

        Raises:
            WorkspaceError: There is no workspace, or it is of another version.
        """
        layout = WorkspaceFiles(path)
        model = creation.text_model(layout.read(for_writing=True))
        return creation.editor(layout, cache, model, clock, command=command, durable=durable)

    def ingest(self, *paths: Path, options: Options | None = None) -> IngestSummary:
        """Take in files and folders, and see them."""
        with self.edit(command="ingest") as editor:
            summary = editor.ingest(paths, options=options)
        self.refresh()
        return summary

    def try_out(
        self,
        paths: Iterable[Path],
        *,
        on_progress: Callable[[int], None] | None = None,
        options: Options | None = None,
    ) -> IngestSummary:
        """Read files as an ingest would, and write nothing."""
        from recommender.store.ingestion import ingest_files

        return ingest_files(paths, self.graph, None, on_progress=on_progress, options=options)

    def corpora(self, catalogue: Path | None = None) -> list[tuple[Corpus, bool]]:
        """The public corpora that can be pulled, each with whether all of it is here.

        Raises:
            InputError: The catalogue cannot be read.
            CaseFormatError: It is wrong.
        """
        from ingest.corpora.corpus import read_corpora
        from kg.triples.finders import completion_marks

        marks = set(completion_marks(self.graph))
        return [(corpus, corpus.mark in marks) for corpus in read_corpora(catalogue).values()]

    def pull(
        self,
        corpus: Corpus,
        *,
        on_fetch: Callable[[int], None] = lambda _: None,
        on_read: Callable[[int], None] | None = None,
    ) -> IngestSummary:
        """Fetch a public corpus and take it in as one batch, all of it or nothing.

        Args:
            corpus: What to fetch.
            on_fetch: Called with the bytes that arrived since its last call.
            on_read: Called with the bytes that were read since its last call.

        Raises:
            InputError: What arrived is not what the catalogue says.
            FetchError: It did not arrive; the next call goes on from there.
            WorkspaceError: Another process is writing, or it cannot be written.
        """
        from recommender.store.pulling import pull

        summary = pull(
            corpus,
            self._cache / "corpora" / corpus.id,
            lambda: self.edit(command="kb pull"),
            on_fetch,
            on_read,
        )
        self.refresh()
        return summary

    def merge(self, other: Path, *, label: str = "", dry_run: bool = False) -> MergeResult:
        """Join another workspace, and see what came; see ``recommender.store.merging.merge``."""
        if dry_run:
            from recommender.store.merging import merge

            return merge(self.layout, self.graph, self.trials, None, other, label=label)
        with self.edit(command="kb merge") as editor:
            merged = editor.merge(other, label=label)
        self.refresh()
        return merged

    def recalibrate(self, progress: Callable[[str], None] = lambda _: None) -> Recalibration:
        """Learn similarity and the width of intervals from the workspace's own problems.

        The lock is held from the first to the last step, which takes minutes where there are many problems.

        Args:
            progress: Called with each step, in words.

        Raises:
            MissingDependencyError: scikit-learn is needed and not installed.
            WorkspaceError: Another process is writing, or the result cannot be written.
        """
        with self.edit(command="calibrate --retrieval") as editor:
            recalibration = editor.recalibrate(self.knowledge_version, progress)
        self.refresh()
        return recalibration

    @staticmethod
    def search_file(file: str) -> tuple[dict[str, object], Path]:
        """Content of a search file, or of a shipped one by its name, and the folder where its commands run.

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
        from recommender.search.run.preparation import THIS_MACHINE, THIS_PROCESSOR
        from recommender.search.run.task_file import read_task_file
        from recommender.space.space_file import read_space

        content, _ = read_task_file(file)
        problem = content.get("problem")
        question = dict(problem) if isinstance(problem, dict) else {}
        if question.get("hardware") in {THIS_MACHINE, THIS_PROCESSOR}:
            del question["hardware"]
        return read_space(content), question

    @staticmethod
    def open_search(log: str, name: str = "") -> LoggedSearch:
        """A search that was begun, by its journal or the URL of its database; see ``LoggedSearch.open``.

        Raises:
            InputError: There is none, or several and no name.
        """
        from recommender.search.logged_search import LoggedSearch

        return LoggedSearch.open(log, name)

    @staticmethod
    def sensitivity(
        file: Path, *, grouping: str = "kind", low: str = "int8", budget: float | None = None
    ) -> LayerSensitivity:
        """Rank groups of layers by the expected cost of low precision in them; see ``rank_file``.

        Raises:
            InputError: The file cannot be read, or has no losses to spend.
            NoEvidenceError: No statistic covers half of the layers that may go down.
        """
        from recommender.answers.sensitivity import rank_file

        return rank_file(file, grouping=grouping, low=low, budget=budget)

    @staticmethod
    def calibrate(
        files: Sequence[Path], folder: Path, *, quick: bool = False, on: date | None = None
    ) -> Operators:
        """Fit the cost model's constants to tables of measured operators, and write them into ``folder``.

        Raises:
            InputError: No file is such a table.
            MissingDependencyError: scikit-learn is needed and not installed.
        """
        from recommender.cost_model.fit.calibrate import calibrate

        return calibrate(files, folder, on=on or _now().date(), quick=quick)

    @staticmethod
    def check_installation(cache: Path) -> list[CheckResult]:
        """Findings on the installed packages and the text model; needs no workspace."""
        from recommender.store.upkeep.environment_checks import installation

        return list(installation(cache))

    @staticmethod
    def examine(path: Path, *, deep: bool | None = None, cache: Path | None = None) -> list[CheckResult]:
        """Check every file of a workspace, which need not be readable; nothing is changed.

        Args:
            path: Its directory.
            deep: Read every triple, row and vector; None to do so up to a gigabyte.
            cache: The user's cache directory; None to leave the text model out.

        Raises:
            WorkspaceError: It is no workspace, or is of another version.
        """
        from recommender.store.upkeep.checkup import DEEP_BYTES, examine, size_bytes

        layout = WorkspaceFiles(path)
        layout.read()
        is_deep = size_bytes(layout) < DEEP_BYTES if deep is None else deep
        return list(examine(layout, deep=is_deep, cache=cache))

    @classmethod
    def repair(cls, path: Path, *, cache: Path) -> list[str]:
        """Make damaged parts of a workspace again from sound ones; return what was done.

        Raises:
            WorkspaceError: Something is damaged that nothing here can restore.
        """
        from recommender.store.upkeep.mending import mend

        layout = WorkspaceFiles(path)
        layout.read()
        done = list(mend(layout, cache))
        with cls.editor(path, cache=cache, command="doctor --repair") as editor:
            editor.repair()
        return done

    @staticmethod
    def experiments_at(path: Path) -> StoredExperiments:
        """The A/B tests of the workspace at ``path``, which need not be open."""
        from recommender.store.experiments import StoredExperiments

        files = WorkspaceFiles(path)
        return StoredExperiments(files.experiments, files.questions)

    def teach_grid(self, region: str) -> int:
        """Put a region's clean and dirty hours into the graph; how many windows of the day.

        Raises:
            InputError: It has not been imported, or is shorter than a day.
            WorkspaceError: Another process is writing.
        """
        from recommender.green.series import green_windows

        stored = self.green.shelf.load(region)
        if stored is None:
            raise InputError(
                f"no series of region {region!r}", hint="tunegraph green import FILE --region NAME"
            )
        record = self.green.record(region)
        place, windows = green_windows(stored.series, about_waits=str(record) if record.jobs else "")
        with self.edit(command="green import") as editor:
            editor.add_knowledge([place, *windows])
        self.refresh()
        return len(windows)

    @property
    def experiments(self) -> WorkspaceExperiments:
        """The A/B tests of the workspace: begin, run, record, find and tell them."""
        from recommender.store.experiments import WorkspaceExperiments

        return WorkspaceExperiments(
            self.layout.experiments,
            self.layout.questions,
            graph=self.graph,
            problem=self.problem,
            edit=lambda: self.edit(command="ab"),
            clock=self._clock,
        )
