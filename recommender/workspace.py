"""The workspace: everything the command line can do, for programs.

A reader sees the newest published snapshot; :meth:`Workspace.edit` takes the lock and writes.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self, Unpack

from ingest.questions.problems import problem_from
from kg.errors import InputError, NoEvidenceError, UnknownEntityError
from recommender.answers.explanation.explanation import explain
from recommender.answers.explanation.neighbours import describe
from recommender.files import WorkspaceFiles
from recommender.store import answered_questions, creation
from recommender.store.contents import WorkspaceContents
from recommender.store.snapshot import WorkspaceSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date
    from pathlib import Path

    import numpy as np

    from ingest.profiles.facts.run import Profile
    from kg.nouns.entities import Problem
    from recommender.answers.answer import Answer
    from recommender.answers.benefit import Prediction
    from recommender.answers.diagnose import Allowed, DiagnosisAnswer
    from recommender.answers.estimate import Estimate
    from recommender.answers.explanation.explanation import Explanation
    from recommender.answers.sensitivity import LayerSensitivity
    from recommender.answers.space_making import SpaceMaker
    from recommender.answers.verification import VerificationRequest
    from recommender.backtest.recalibration import Recalibration
    from recommender.cost_model.operators.kinds import Operators
    from recommender.diagnosis.logs import SeenFault
    from recommender.evolution.exploring import Exploration
    from recommender.experiment.testing import PreparedTest
    from recommender.ranking.recommendation import Recommendation
    from recommender.retrieval.neighbours import Neighbour
    from recommender.search.log.study import SearchLog
    from recommender.search.run.preparation import Prepared, SearchOptions
    from recommender.store.editor import Editor
    from recommender.store.experiments import StoredExperiments, WorkspaceExperiments
    from recommender.store.ingestion import IngestSummary, Options
    from recommender.store.inspection import CheckResult
    from recommender.store.merging import MergeResult


def _now() -> datetime:
    return datetime.now(UTC)


class Workspace(WorkspaceContents):
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
    ) -> None:
        """Make a workspace.

        Args:
            path: Its directory; made if it does not exist.
            cache: The user's cache directory.
            text_model: Name of the text model; None for structured features alone; the default where
                it can be had if empty.
            with_shipped: Fill it with the shipped knowledge and cases.
            clock: Tells the time.

        Raises:
            WorkspaceError: The directory holds something else, or cannot be written.
            MissingDependencyError: The text model cannot be had here.
        """
        creation.create(
            WorkspaceFiles(path), cache, text_model=text_model, with_shipped=with_shipped, clock=clock
        )

    def edit(self, *, command: str = "", durable: bool = False) -> Editor:
        """Return the writing side; enter it to take the lock."""
        return self.editor(self.layout.root, cache=self._cache, command=command, durable=durable)

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

    def merge(self, other: Path, *, label: str = "", dry_run: bool = False) -> MergeResult:
        """Join another workspace, and see what came; see ``recommender.store.merging.merge``."""
        if dry_run:
            from recommender.store.merging import merge

            return merge(self.layout, self.graph, self.trials, None, other, label=label)
        with self.edit(command="kb merge") as editor:
            merged = editor.merge(other, label=label)
        self.refresh()
        return merged

    def problem(self, raw: Mapping[str, object]) -> tuple[Problem, tuple[str, ...]]:
        """Read a question (keys of ``ingest.questions.problems.KEYS``); return it with notes on assumptions.

        Raises:
            InputError: Something of it is wrong, or a name is not known.
            NoEvidenceError: The workspace knows nothing at all.
        """
        try:
            return problem_from(raw, self.names, self.operator)
        except InputError:
            if self.hardware.ids():
                raise
        raise NoEvidenceError(
            "the workspace is empty: it knows no hardware and no case",
            hint="tunegraph ingest FOLDER reads cases, tunegraph kb add hardware FILE adds a device; "
            "a workspace made anew begins with the shipped knowledge",
        )

    def recommend(self, problem: Problem, k: int = 5, *, notes: Sequence[str] = ()) -> Answer:
        """Recommend k configurations, best first, with expected gain, interval and evidence.

        Args:
            problem: The question; :meth:`problem` makes one from plain words.
            k: How many at most.
            notes: What was assumed when the question was read.

        Raises:
            NoEvidenceError: Nothing known is near enough; the hint says what to measure.
            InfeasibleError: All that is known was refused; the message names the rules.
        """
        return self.snapshot.recommender.answer(problem, k, model=self.model_facts(problem), notes=notes)

    def explore(
        self, problem: Problem, k: int = 5, *, rng: np.random.Generator, notes: Sequence[str] = ()
    ) -> Exploration:
        """Recommend by Thompson sampling, hypotheses included, with the price of exploring.

        Args:
            problem: The question.
            k: How many at most.
            rng: Draws the gains.
            notes: What was assumed when the question was read.

        Raises:
            NoEvidenceError, InfeasibleError: As for :meth:`recommend`.
        """
        from recommender.evolution.exploring import POOL, explore

        model = self.model_facts(problem)
        pool = self.snapshot.recommender.answer(
            problem, POOL * k, model=model, notes=notes, with_hypotheses=True
        )
        return explore(pool, k, self.snapshot.recommender.strategies.outcomes(problem), rng)

    def predict(
        self,
        problem: Problem,
        k: int = 5,
        *,
        server: str = "",
        intensity_g_per_kwh: float | None = None,
        notes: Sequence[str] = (),
    ) -> Prediction:
        """Predict throughput, memory, energy and carbon of k recommendations, with intervals.

        Args:
            problem: The question.
            k: How many recommendations at most.
            server: Name of the server around the devices; empty if it is not stated.
            intensity_g_per_kwh: Of the grid, in grams of CO2; None for no carbon.
            notes: What was assumed when the question was read.

        Raises:
            NoEvidenceError: Nothing supports a prediction.
            InfeasibleError: All that is known was refused.
            InputError: An intensity that no grid has, or an unknown server.
        """
        from recommender.answers.predict import check_intensity, predict, question_of

        check_intensity(intensity_g_per_kwh)
        answer = self.recommend(problem, k, notes=notes)
        around = self.names.server(server).id if server else ""
        question, assumed = question_of(problem, self.model_facts(problem), self.hardware, around)
        return predict(answer, question, intensity_g_per_kwh=intensity_g_per_kwh, notes=assumed)

    def estimate(
        self,
        raw: Mapping[str, object],
        *,
        phase: str = "training",
        server: str = "",
        settings: Mapping[str, object] | None = None,
        axes: Mapping[str, Sequence[object]] | None = None,
        constants: Path | None = None,
    ) -> Estimate:
        """Time, throughput, memory and energy of a step, by the cost model.

        ``raw`` is a question as for :meth:`problem`; ``settings`` of the cost model win over it, and every
        combination of the values of ``axes`` is estimated. ``server`` is a name, empty if it is not stated.

        Raises:
            InputError: The question, the phase or a setting is wrong, or no such layout can be.
            MissingFactError: A fact that the estimate needs is unknown.
        """
        from recommender.answers.estimate import estimate_problem
        from recommender.cost_model.question import check_phase

        check_phase(phase)
        problem, notes = self.problem({**raw, "phase": phase})
        around = self.names.server(server) if server else None
        return estimate_problem(
            problem,
            self.model_facts(problem),
            self.hardware,
            phase=phase,
            server=around.id if around else "",
            settings=settings,
            axes=axes,
            constants=constants,
            notes=[*notes, around.note] if around and around.note else notes,
        )

    def diagnose(
        self,
        profile: Path | Profile,
        *,
        before: Path | Profile | None = None,
        least: float = 0.05,
        allowed: Allowed | None = None,
        hardware: str = "",
        model: str = "",
    ) -> DiagnosisAnswer:
        """The causes of lost time in a profile, with remedies and matching cases.

        Args:
            profile: A profile, or the path of one.
            before: An earlier profile of the same job: then what became worse is explained.
            least: Share of the step from which a cause is significant.
            allowed: What remedies may do; anything if None.
            hardware: Name of the device; as far as the profile tells if empty.
            model: Name of the model; empty if it is not stated.

        Raises:
            InputError: A path is no profile.
        """
        from kg.rows.gains import gains
        from recommender.answers.diagnose import diagnose_profile, present_of, profile_at

        run = profile_at(profile)
        return diagnose_profile(
            self.graph,
            run,
            before=None if before is None else profile_at(before),
            least=least,
            allowed=allowed,
            gains=gains(self.trials),
            present=present_of(self.graph, self.names, self.hardware, run, hardware, model),
        )

    def faults(self, log: Path) -> list[SeenFault]:
        """The known faults in a log.

        Raises:
            InputError: It cannot be read.
        """
        from recommender.answers.diagnose import faults_in

        return faults_in(self.graph, log)

    @property
    def space(self) -> SpaceMaker:
        """Makes search files: layouts, kernels, run-time variables, or a file pruned by measurements."""
        from recommender.answers.space_making import SpaceMaker

        return SpaceMaker(
            graph=self.graph,
            names=self.names,
            hardware=self.hardware,
            trials=self.trials,
            problem=self.problem,
            similar=self.similar,
        )

    def similar(self, problem: Problem, k: int = 10) -> list[Neighbour]:
        """Return the k nearest known problems; those of another operator or metric come last."""
        comparable = self.snapshot.retriever.find(problem, most=k)
        there = {item.problem.key for item in comparable}
        others = self.snapshot.retriever.find(problem, most=k, any_operator=True)
        return [*comparable, *(item for item in others if item.problem.key not in there)][:k]

    def neighbours(self, problem: Problem, k: int = 10) -> list[dict[str, object]]:
        """Describe the k nearest known problems: shape, number of rows, and best value of each."""
        return [describe(item, self.graph, self.trials) for item in self.similar(problem, k)]

    def explain(self, recommendation_id: str) -> Explanation:
        """Explain a recommendation; its answer is computed again from the remembered question.

        Raises:
            UnknownEntityError: No remembered answer has this id, or the knowledge has changed since.
        """
        remembered = answered_questions.question_of(self.layout.asked, recommendation_id)
        problem, notes = self.problem(json.loads(remembered.question))
        answer = self.recommend(problem, remembered.k, notes=notes)
        if any(item.id == remembered.id for item in answer):
            return explain(answer, remembered.id)
        raise UnknownEntityError(
            f"{remembered.id} was answered by knowledge {remembered.version};"
            f" now it is {self.knowledge_version}",
            hint="ask again: tunegraph recommend",
        )

    def remember(self, answer: Iterable[Recommendation], raw: Mapping[str, object], k: int) -> bool:
        """Keep which question some recommendations answered; whether that was possible."""
        question = json.dumps(raw, ensure_ascii=False, sort_keys=True)
        return answered_questions.remember(
            self.layout.asked, answer, question=question, k=k, version=self.knowledge_version
        )

    def search(self, raw: Mapping[str, object], *, log: str, **options: Unpack[SearchOptions]) -> SearchLog:
        """Begin a search that starts from the tables of similar problems; needs Optuna.

        Args:
            raw: Content of a search file (docs/search.md).
            log: File or URL of its log.
            options: See ``recommender.search.run.preparation.SearchOptions``.

        Returns:
            The log; ``recommender.search.run.assembly.runner_of`` runs it.

        Raises:
            InputError: ``raw`` is wrong, or the log holds such a search already.
        """
        return self.prepare_search(raw, **options).begin(log)

    def prepare_search(self, raw: Mapping[str, object], **options: Unpack[SearchOptions]) -> Prepared:
        """Prepare a search without beginning it; see :meth:`search`."""
        from recommender.search.run.preparation import Tuner

        tuner = Tuner(
            graph=self.graph,
            names=self.names,
            hardware=self.hardware,
            trials=self.trials,
            retriever=lambda: self.snapshot.retriever,
            operator=self.operator,
        )
        return tuner.prepare(raw, **options)

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
        from recommender.store.environment_checks import installation

        return list(installation(cache))

    @staticmethod
    def examine(path: Path, *, deep: bool | None = None) -> list[CheckResult]:
        """Check every file of a workspace, which need not be readable; nothing is changed.

        Args:
            path: Its directory.
            deep: Read every triple, row and vector; None to do so up to a gigabyte.

        Raises:
            WorkspaceError: It is no workspace, or is of another version.
        """
        from recommender.store.upkeep.checkup import DEEP_BYTES, examine, size_bytes

        layout = WorkspaceFiles(path)
        layout.read()
        return list(examine(layout, deep=size_bytes(layout) < DEEP_BYTES if deep is None else deep))

    @classmethod
    def repair(cls, path: Path, *, cache: Path) -> list[str]:
        """Make damaged parts of a workspace again from sound ones; return what was done.

        Raises:
            WorkspaceError: Something is damaged that nothing here can restore.
        """
        from recommender.store.upkeep.mending import mend

        layout = WorkspaceFiles(path)
        layout.read()
        done = list(mend(layout))
        with cls.editor(path, cache=cache, command="doctor --repair") as editor:
            editor.repair()
        return done

    @staticmethod
    def experiments_at(path: Path) -> StoredExperiments:
        """The A/B tests of the workspace at ``path``, which need not be open."""
        from recommender.store.experiments import StoredExperiments

        files = WorkspaceFiles(path)
        return StoredExperiments(files.experiments, files.asked)

    @property
    def experiments(self) -> WorkspaceExperiments:
        """The A/B tests of the workspace: begin, run, record, find and tell them."""
        from recommender.store.experiments import WorkspaceExperiments

        return WorkspaceExperiments(
            self.layout.experiments,
            self.layout.asked,
            graph=self.graph,
            problem=self.problem,
            edit=lambda: self.edit(command="ab"),
            clock=self._clock,
        )

    @staticmethod
    def verification(answer: Answer, raw: Mapping[str, object], request: VerificationRequest) -> PreparedTest:
        """The A/B test of an answer's first recommendations against the current settings.

        Raises:
            InputError: The question does not say what is set now, or the command can try nothing.
        """
        from recommender.answers.verification import prepare_verification

        return prepare_verification(answer, raw, request)
