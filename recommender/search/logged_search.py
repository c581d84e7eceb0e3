"""Searches that were begun: a log is all that is needed to go on, to take part or to report."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kg.errors import InputError
from kg.nouns.codec import JsonNoun
from kg.nouns.values import Settings
from recommender.measuring.environment import capture
from recommender.measuring.outcome import CancelledError, RunOutcome
from recommender.search.log.study import SearchLog
from recommender.search.log.trial_record import LoggedTrial
from recommender.search.report.result import Result
from recommender.search.report.search_report import CourseReport, SearchReport
from recommender.search.run.assembly import SearchPlace, evaluator_of, runner_of, task_of
from recommender.search.run.compatibility import check, compare_file, differences
from recommender.search.run.manual import ask_trials, record_evaluation, tell_trial
from recommender.search.run.runner import Progress
from recommender.search.run.task import TaskCommand
from recommender.search.run.task_file import log_name, read_task_file


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerShare(JsonNoun):
    """The part of a worker in a search.

    Attributes:
        evaluated: Evaluations that ended here.
        requeued: Evaluations of workers that were gone, which it queued again.
        dropped: Evaluations that others had told by the time they ended here.
        evaluations: Evaluations of the search that had ended.
        stop_reason: Why it ended.
    """

    evaluated: int
    requeued: int
    dropped: int
    evaluations: int
    stop_reason: str


@dataclass(frozen=True, slots=True)
class LoggedSearch:
    """A search that was begun.

    Attributes:
        log: Its log.

    Example:
        >>> import os
        >>> import tunegraph
        >>> search = tunegraph.LoggedSearch.open("kernel.journal")  # doctest: +SKIP
        >>> search.run(base=os.environ)  # doctest: +SKIP
        'budget of 40 evaluations used'
    """

    log: SearchLog

    @classmethod
    def open(cls, place: str, name: str = "") -> LoggedSearch:
        """Open a search.

        Args:
            place: Its journal file, or the URL of a database.
            name: Which search, where there are several.

        Raises:
            InputError: There is none, or several and no name.
        """
        return cls(SearchLog.open(place, name=name))

    @property
    def name(self) -> str:
        """Its name."""
        return self.log.name

    @property
    def storage(self) -> str:
        """The place of its log, without a password."""
        return self.log.storage

    def check_file(self, file: str) -> None:
        """Refuse to go on if its file has changed its space, objectives or limits.

        Raises:
            InputError: It has; the message says which changed.
        """
        compare_file(self.log, replace(read_task_file(file), name=file))

    def run(
        self,
        *,
        base: Mapping[str, str],
        on_progress: Callable[[Progress], None] = lambda _: None,
        more: Mapping[str, object] | None = None,
    ) -> str:
        """Run it to its end; return why it ended.

        Args:
            base: Environment of its commands.
            on_progress: Called after each evaluation.
            more: Keys that replace those of its file: a larger budget, other jobs.

        Raises:
            InfeasibleError: Nothing satisfies the constraints, or nothing that was tried runs.
            InputError: Nothing gives it numbers, or the objective cannot be evaluated.
            KeyboardInterrupt: It was interrupted; it can be run on.
        """
        runner = runner_of(self.log, base=base, on_progress=on_progress, more=more)
        try:
            return runner.run()
        except CancelledError:
            raise KeyboardInterrupt from None

    def join(
        self,
        *,
        base: Mapping[str, str],
        folder: Path | None = None,
        jobs: int | None = None,
        patience_s: float | None = None,
        on_note: Callable[[str], None] = lambda _: None,
        on_progress: Callable[[Progress], None] = lambda _: None,
    ) -> WorkerShare:
        """Take part as one of several workers, on any machine, until it ends.

        Args:
            base: Environment of its commands.
            folder: Where they run here; None for where the search was begun.
            jobs: Evaluations at a time here; None for as many as its file says.
            patience_s: How long to wait for a storage that is away; None for the usual time.
            on_note: Called with what is to be known of this machine, in words.
            on_progress: Called after each evaluation.

        Raises:
            InputError: The program or a file here is another one, or nothing gives the search numbers.
            KeyboardInterrupt: It was interrupted; what was under way is queued again.
        """
        if patience_s is not None:
            self.log.patience_s = patience_s
        task, place = task_of(self.log), (folder or Path(self.log.metadata.folder)).resolve()
        check(self.log, task, place)
        runner = runner_of(self.log, base=base, on_progress=on_progress, folder=place)
        if jobs is not None:
            runner.task = replace(runner.task, jobs=jobs)
        if isinstance(task.number_source, TaskCommand):
            for text in differences(self.log, capture(task.versions)):
                on_note(f"this machine is not like the one where the search was begun: {text}")
        done = sum(trial.evaluation is not None for trial in self.log.trials())
        on_note(f"joined {self.name} in {self.storage}, of which {done} evaluations have ended")
        try:
            reason = runner.run()
        except CancelledError:
            raise KeyboardInterrupt from None
        return WorkerShare(
            evaluated=runner.ended,
            requeued=runner.queue.requeued,
            dropped=runner.dropped,
            evaluations=len(runner.search.evaluations),
            stop_reason=reason,
        )

    def ask(self, n: int = 1) -> Sequence[LoggedTrial]:
        """Up to n configurations for people to evaluate: first those that wait in the queue, then new ones.

        Raises:
            InfeasibleError: Nothing satisfies the constraints.
            InputError: Every configuration was evaluated or is being evaluated.
        """
        return ask_trials(self.log, n)

    def tell(
        self,
        trial: int | None = None,
        *,
        configuration: Mapping[str, object] | None = None,
        values: Mapping[str, str] | None = None,
        failed: str | None = None,
    ) -> int:
        """Write what came out of a trial, or of a configuration that nobody asked for; return its number.

        Args:
            trial: Number of the trial; None with a configuration.
            configuration: What was set, instead of a trial.
            values: By metric, each with its unit: ``"1.2ms"``.
            failed: Why it did not run; None if it did.

        Raises:
            InputError: No such trial, it ended already, the configuration is outside the space, or a value
                is missing or of the wrong unit.
        """
        return tell_trial(self.log, trial, configuration, values or {}, failed)

    def result(self) -> Result:
        """The state of the search: its best configurations, front, gains and failures so far."""
        return Result.of(self.log, task_of(self.log))

    def course(self) -> CourseReport:
        """The course that it took so far."""
        return CourseReport(self.result().history)

    def report(self, *, base: Mapping[str, str], measure: bool = False) -> SearchReport:
        """Report how fast it was near its best, how steady, and what each parameter contributed.

        Args:
            base: Environment of its commands.
            measure: Evaluate what contributions need by its command, rather than predict it.

        Raises:
            InputError: Its evaluator cannot be made here.
        """
        result, missing = self.result(), ""
        try:
            contributions = result.contributions(self._evaluate(result, base, measure=measure))
        except InputError as fault:
            contributions, missing = [], str(fault)
        if measure:
            result = self.result()  # with what was measured just now
        return SearchReport(result=result, contributions=contributions, missing=missing)

    def journal(self, folder: Path) -> Path:
        """The file of its log; of a database elsewhere a copy in ``folder``."""
        path = Path(self.storage.removeprefix("sqlite:///"))
        if not path.is_file():
            path = folder / log_name(self.name)
            self.log.copy_to(path)
        return path

    def _evaluate(
        self, result: Result, base: Mapping[str, str], *, measure: bool
    ) -> Callable[[Settings], RunOutcome] | None:
        """The evaluator of the steps between default and best; None to predict them."""
        if isinstance(result.task.number_source, TaskCommand) and not measure:
            return None
        place = SearchPlace(folder=Path(self.log.metadata.folder), base=base)
        evaluator, _ = evaluator_of(result.task, place)
        if evaluator is None:
            return None
        cancel = threading.Event()

        def evaluate(configuration: Settings) -> RunOutcome:
            outcome = evaluator.evaluate(configuration, cancel)
            if measure:
                record_evaluation(self.log, result.task, configuration, outcome, "ablation")
            return outcome

        return evaluate
