"""The loop of a search: ask, evaluate, tell, until it ends; all in the log, so that any process can go on."""

import logging
import statistics
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Self

from kg.errors import InfeasibleError, WorkspaceError
from kg.nouns.entities import Kind, Objective, Status
from kg.nouns.values import Settings
from recommender.measuring.outcome import CancelledError, Evaluator, RunOutcome
from recommender.search.engine.search import Search
from recommender.search.evaluations import Evaluation
from recommender.search.log.study import SearchLog
from recommender.search.log.trial_record import LoggedTrial
from recommender.search.log.workers import BEAT_S, Watch
from recommender.search.run.objective import evaluation_of
from recommender.search.run.task import Task
from recommender.search.run.trial_queue import TrialQueue

FUTILE = 10
"""Evaluations that all fail alike before any succeeds, after which a search ends; a choice."""
_LOOK_S = 0.2
_IDLE_S = 0.5
"""Interval at which an idle worker looks for work that others have left; a choice."""
_HURRY_S = 5.0
"""Wait of an interrupted worker for a storage that is away; a choice."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a search, reported after each evaluation.

    Attributes:
        objective: What decides; its value stands first in an evaluation.
        trial: What just ended; None at the beginning.
        done: Evaluations that have ended.
        most: Evaluations at most; None without bound.
        best: The best so far that keeps the limits; None before there is one.
        running: Evaluations under way.
        remaining_s: About how long it can still take; None if nothing bounds it.
        elapsed_s: How long it took so far, all sessions together.
    """

    objective: Objective
    trial: LoggedTrial | None
    done: int
    most: int | None
    best: Evaluation | None
    running: int
    remaining_s: float | None
    elapsed_s: float


@dataclass(slots=True, kw_only=True)
class Runner:
    """Runs one search in this process; others may run it too, on the same log.

    Attributes:
        log: Its log.
        task: What is searched.
        search: Proposes; new, it is told what the log holds.
        evaluator: Gives numbers.
        timeout_s: How long an evaluation may take at most; None if unknown.
        mark: Marks the processes of its commands; empty without a command.
        on_progress: Told after each evaluation.
        clock: Unix time.
        beat_s: How often it shows that it lives, where others may be on other machines.
        ended: How many evaluations ended here.
        dropped: How many of them others told, since this worker was taken for gone.
    """

    log: SearchLog
    task: Task
    search: Search
    evaluator: Evaluator
    timeout_s: float | None = None
    mark: str = ""
    on_progress: Callable[[Progress], None] = lambda _: None
    clock: Callable[[], float] = time.time
    cancel: threading.Event = field(default_factory=threading.Event)
    beat_s: float = BEAT_S
    ended: int = 0
    dropped: int = 0
    queue: TrialQueue = field(init=False)
    _running: dict[Future[RunOutcome], LoggedTrial] = field(default_factory=dict)
    _before_s: float = 0.0
    _started: float = 0.0
    _looked: float = 0.0

    def __post_init__(self) -> None:
        """See the trials as one of several workers does."""
        self.queue = TrialQueue(
            log=self.log,
            task=self.task,
            search=self.search,
            watch=Watch(self.beat_s),
            mark=self.mark,
            clock=self.clock,
        )

    def run(self) -> str:
        """Run to the end; why it ended.

        Raises:
            InfeasibleError: Nothing satisfies the constraints, or nothing that was tried runs.
            CancelledError: ``cancel`` was set; what was under way is queued again.
            InputError: The objective cannot be evaluated at all.
            WorkspaceError: The log stayed away.
        """
        self._started = time.monotonic()
        self._look()
        self._before_s = max((item.elapsed_s for item in self.queue.trials), default=0.0)
        self.on_progress(self._progress(None))
        with (
            ThreadPoolExecutor(self.task.jobs, thread_name_prefix="evaluation") as pool,
            Beats(self.log, lambda: list(self.queue.mine.values()), self.beat_s),
        ):
            try:
                self._evaluate(pool, self.task.jobs, self._next)
                reason = self._stop_reason() or "every configuration of the space was evaluated"
                if self.task.finalists > 1 and self.evaluator.kind is Kind.MEASURED:
                    self._evaluate(pool, 1, self.queue.take_final)  # one at a time, so that none disturbs
            except BaseException as fault:
                self._interrupt(requeue=not isinstance(fault, WorkspaceError))
                raise
        if self.search.incumbent is None and not any(item.ok for item in self.search.evaluations):
            raise InfeasibleError(
                f"none of {len(self.search.evaluations)} evaluations ran: {self._last_reason()}",
                hint="see them: tunegraph search status, or run the command by hand",
            )
        self.log.amend(stop_reason=reason)
        return reason

    @property
    def elapsed_s(self) -> float:
        """Time that the search took, all sessions together."""
        return self._before_s + (time.monotonic() - self._started if self._started else 0.0)

    def _evaluate(
        self, pool: ThreadPoolExecutor, most: int, take: Callable[[float | None], LoggedTrial | None]
    ) -> None:
        """Take and evaluate until there is nothing to take and no other worker might leave something."""
        told_of = 0
        while True:
            begun = True
            while begun and len(self._running) < most:
                begun = self._begin(pool, take)
            if self._running:
                self._collect()
            elif self.queue.others:
                if self.queue.others != told_of:
                    told_of = self.queue.others
                    _log.info("waiting for %d evaluations of other workers", told_of)
                if self.cancel.wait(min(_IDLE_S, self.beat_s)):
                    raise CancelledError("interrupted")
                self._look()
            else:
                return

    def _begin(self, pool: ThreadPoolExecutor, take: Callable[[float | None], LoggedTrial | None]) -> bool:
        """Start one evaluation; False if there is nothing to evaluate."""
        if self.cancel.is_set():
            raise CancelledError("interrupted")
        trial = take(None if self.timeout_s is None else self.clock() + self.timeout_s)
        self._looked = time.monotonic()
        if trial is None:
            return False
        self._running[pool.submit(self.evaluator.evaluate, trial.configuration, self.cancel)] = trial
        return True

    def _next(self, until: float | None) -> LoggedTrial | None:
        if self._stop_reason() is not None:
            return None  # no need to keep the others from choosing
        return self.queue.take(until, lambda: self._stop_reason() is not None)

    def _look(self) -> None:
        """See what the other workers did."""
        self.queue.catch_up()
        self._looked = time.monotonic()

    def _collect(self) -> None:
        """Wait for evaluations to end, and write and tell what came out."""
        done, _ = wait(self._running, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
        if self.cancel.is_set():
            raise CancelledError("interrupted")
        for future in done:
            self._finish(future)
        if time.monotonic() - self._looked > self.beat_s:
            self._look()

    def _finish(self, future: Future[RunOutcome]) -> None:
        trial = self._running[future]
        outcome = self._with_accuracy(trial.configuration, future.result())
        evaluation = evaluation_of(
            outcome, trial.configuration, self.task.objectives, self.task.limits, self.task.parts
        )
        kept = self.log.finish(
            trial, evaluation, outcome, objectives=self.task.objectives, elapsed_s=self.elapsed_s
        )
        del self._running[future]
        number = self.queue.ended(trial, kept=kept)
        self.ended += 1
        if not kept:
            self.dropped += 1
            _log.warning(
                "trial %d was given to another worker meanwhile: its result is dropped", trial.number
            )
            return
        self.search.tell(evaluation, number)
        self.on_progress(self._progress(trial, evaluation))

    def _with_accuracy(self, configuration: Settings, outcome: RunOutcome) -> RunOutcome:
        """The outcome with a published loss of accuracy, where none was measured."""
        if outcome.status is not Status.OK or "accuracy_loss" in outcome.values:
            return outcome
        wanted = {*(x.metric for x in self.task.objectives), *(x.metric for x in self.task.limits)}
        if "accuracy_loss" not in wanted:
            return outcome
        loss, basis = self.task.accuracy.loss(configuration)
        if loss is None:
            return replace(outcome, notes=(*outcome.notes, f"loss of accuracy not measured ({basis})"))
        noted = replace(outcome, notes=(*outcome.notes, f"accuracy: {basis}")) if basis else outcome
        return replace(noted, values={**noted.values, "accuracy_loss": loss})

    def _stop_reason(self) -> str | None:
        """The reason to start nothing more; None to go on."""
        if self.cancel.is_set():
            return "interrupted"
        evaluations, stop = self.search.evaluations, self.task.stop
        under_way = len(self._running) + self.queue.elsewhere
        if stop.evaluations is not None and len(evaluations) + under_way >= stop.evaluations:
            return f"budget of {stop.evaluations} evaluations used"
        spans = [item.cost_s for item in evaluations if item.cost_s is not None]
        usual_s = statistics.median(spans) if spans else 0.0
        if stop.time_s is not None and self.elapsed_s + usual_s > stop.time_s and evaluations:
            return f"time of {stop.time_s:g} s used"
        if stop.cost is not None:
            spent = (sum(spans) + under_way * usual_s) / 3600 * stop.price_per_hour
            if spent + usual_s / 3600 * stop.price_per_hour > stop.cost and evaluations:
                return f"cost of {stop.cost:g} used"
        failed = [item.reason[:40] for item in evaluations]
        if len(failed) >= FUTILE and not any(item.ok for item in evaluations) and len(set(failed)) == 1:
            return f"the first {len(failed)} evaluations all failed alike"
        return self.search.stop_reason

    def _interrupt(self, *, requeue: bool) -> None:
        """End what is under way, and queue it again unless the log is away."""
        self.cancel.set()
        for future in self._running:
            if not future.cancel():
                wait([future])
        self._running.clear()
        if not requeue:
            return
        self.log.patience_s = min(self.log.patience_s, _HURRY_S)
        try:
            self.queue.give_back()
        except WorkspaceError as fault:
            _log.warning("%s; other workers will find what was under way here by its silence", fault)

    def _last_reason(self) -> str:
        reasons = [item.reason for item in self.search.evaluations if item.reason]
        return reasons[-1] if reasons else "no reason was given"

    def _progress(self, trial: LoggedTrial | None, evaluation: Evaluation | None = None) -> Progress:
        evaluations, stop = self.search.evaluations, self.task.stop
        spans = [item.cost_s for item in evaluations if item.cost_s is not None]
        at_work = len(self._running) + self.queue.others
        left = None
        if stop.evaluations is not None and spans:
            left = (
                max(0, stop.evaluations - len(evaluations))
                * statistics.fmean(spans)
                / max(self.task.jobs, at_work)
            )
        if stop.time_s is not None:
            remaining = max(0.0, stop.time_s - self.elapsed_s)
            left = remaining if left is None else min(left, remaining)
        if trial is not None and evaluation is not None:
            trial = replace(trial, evaluation=evaluation)
        return Progress(
            objective=self.task.objectives[0],
            trial=trial,
            done=len(evaluations),
            most=stop.evaluations,
            best=self.search.incumbent,
            running=at_work,
            remaining_s=left,
            elapsed_s=self.elapsed_s,
        )


_log = logging.getLogger(__name__)


class Beats:
    """Writes a beat for each trial that is evaluated here, as long as this lasts.

    Args:
        log: Of the search; where only this machine can share it, nothing is written.
        trials: What is being evaluated.
        every_s: How often.
    """

    def __init__(self, log: SearchLog, trials: Callable[[], Iterable[LoggedTrial]], every_s: float) -> None:
        self._log, self._trials, self._every_s = log, trials, every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="beats", daemon=True)

    def __enter__(self) -> Self:
        if self._log.is_shared:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._log.is_shared:
            self._thread.join(self._every_s)

    def _run(self) -> None:
        from recommender.search.log.databases import troubles

        # The storage is away, which the worker itself finds out, or the trial has just ended.
        passing: tuple[type[Exception], ...] = (*troubles(), RuntimeError, KeyError)
        while not self._over.wait(self._every_s):
            for trial in self._trials():
                try:
                    self._log.beat(trial)
                except passing as fault:
                    _log.debug("no beat for trial %d: %s", trial.number, type(fault).__name__)
