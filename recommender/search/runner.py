"""Ask, evaluate, tell, until there is a reason to stop; all of it in the log, so that anybody can go on."""

from __future__ import annotations

import logging
import statistics
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kg.entities import Better, Kind, Status
from kg.errors import InfeasibleError, WorkspaceError
from recommender.measuring.outcome import CancelledError, Outcome
from recommender.measuring.process import kill_marked
from recommender.search.evaluations import Evaluation, Suggestion
from recommender.search.objective import evaluation_of
from recommender.search.workers import MANUAL, is_gone, pid_here, worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from kg.values import Settings
    from recommender.measuring.outcome import Evaluator
    from recommender.search.search import Search
    from recommender.search.study import LoggedTrial, SearchLog
    from recommender.search.task import Task

FUTILE = 10
"""Evaluations that all fail alike before any succeeds, after which a search ends; a choice."""
REPEATS = 4
"""How often each finalist is measured again, in turns so that drift favours none; a choice."""
NEAR = 0.25
"""How far from the best a finalist may be, beyond the second; what is slower will not turn out faster; a
choice."""
_LOOK_S = 0.2
_TRIES = 100

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a search stands.

    Attributes:
        trial: What just ended; None at the beginning.
        done: Evaluations that have ended.
        most: Evaluations at most; None without bound.
        best: The best so far that keeps the limits; None before there is one.
        running: Evaluations under way.
        left_s: About how long it can still take; None if nothing bounds it.
        elapsed_s: How long it took so far, all sessions together.
    """

    trial: LoggedTrial | None
    done: int
    most: int | None
    best: Evaluation | None
    running: int
    left_s: float | None
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
    _told: set[int] = field(default_factory=set)
    _mine: dict[Future[Outcome], LoggedTrial] = field(default_factory=dict)
    _numbers: dict[int, int] = field(default_factory=dict)
    _before_s: float = 0.0
    _elsewhere: int = 0
    _started: float = 0.0
    _owner: str = ""

    def run(self) -> str:
        """Run to the end; why it ended.

        Raises:
            InfeasibleError: Nothing satisfies the constraints, or nothing that was tried runs.
            CancelledError: ``cancel`` was set; what was under way is queued again.
            InputError: The objective cannot be evaluated at all.
            WorkspaceError: The log stayed away.
        """
        self._owner, self._started = worker(), time.monotonic()
        self._before_s = max((item.elapsed_s for item in self.catch_up(requeue=True)), default=0.0)
        self.on_progress(self._progress(None))
        with ThreadPoolExecutor(self.task.jobs, thread_name_prefix="evaluation") as pool:
            try:
                reason = self._loop(pool)
                if self.task.finalists > 1 and self.evaluator.kind is Kind.MEASURED:
                    self._finals(pool)
            except BaseException as fault:
                self._interrupt(requeue=not isinstance(fault, WorkspaceError))
                raise
        if self.search.incumbent is None and not any(item.ok for item in self.search.evaluations):
            raise InfeasibleError(
                f"none of {len(self.search.evaluations)} evaluations ran: {self._last_reason()}",
                hint="see them: tunegraph search status, or run the command by hand",
            )
        self.log.note("stop_reason", reason)
        return reason

    def catch_up(self, *, requeue: bool) -> list[LoggedTrial]:
        """Tell the search what the log holds; returns all trials.

        Args:
            requeue: Queue again what is running under a worker that is gone.
        """
        trials = self.log.trials()
        for trial in trials:
            if trial.evaluation is not None and trial.number not in self._told:
                self._told.add(trial.number)
                self.search.tell(trial.evaluation)
            elif requeue and self._is_left(trial):
                _log.info("trial %d was left by a worker that is gone: queued again", trial.number)
                if self.mark and (pid := pid_here(trial.owner)) is not None:
                    kill_marked(f"{self.mark}/{pid}")  # its command may have outlived it
                self.log.requeue(trial)
        self._elsewhere = sum(item.state == "RUNNING" for item in trials) - len(self._mine)
        return self.log.trials() if any(map(self._is_left, trials)) else trials

    def _is_left(self, trial: LoggedTrial) -> bool:
        """Whether a trial is running under a worker that is gone."""
        if trial.state != "RUNNING" or trial.owner in {MANUAL, self._owner}:
            return False
        return is_gone(trial.owner, trial.until, self.clock())

    @property
    def elapsed_s(self) -> float:
        """How long the search took, all sessions together."""
        return self._before_s + (time.monotonic() - self._started if self._started else 0.0)

    def _loop(self, pool: ThreadPoolExecutor) -> str:
        exhausted = False
        while True:
            reason = self._stop_reason()
            while reason is None and not exhausted and len(self._mine) < self.task.jobs:
                exhausted = not self._begin(pool)
                reason = self._stop_reason()
            if not self._mine:
                return reason or "every configuration of the space was evaluated"
            self._collect()

    def _begin(self, pool: ThreadPoolExecutor) -> bool:
        """Start one evaluation; False if there is nothing left to evaluate."""
        until = None if self.timeout_s is None else self.clock() + self.timeout_s
        for trial in self.catch_up(requeue=True):
            if trial.state == "WAITING" and self.log.claim(trial, owner=self._owner, until=until):
                self._submit(pool, trial, None)
                return True
        taken = {item.configuration for item in self.log.trials() if item.origin != "repeat"}
        suggestion = self._fresh(taken)
        if suggestion is None:
            return False
        trial = self.log.start(suggestion, self.task.space, owner=self._owner, until=until)
        self._submit(pool, trial, suggestion)
        return True

    def _fresh(self, taken: set[Settings]) -> Suggestion | None:
        """A suggestion that no other worker has; None if there is no more."""
        for _ in range(_TRIES):
            suggestions = self.search.ask(1)
            if not suggestions:
                return None
            if suggestions[0].origin == "repeat" or suggestions[0].configuration not in taken:
                return suggestions[0]
        return None

    def _submit(self, pool: ThreadPoolExecutor, trial: LoggedTrial, suggestion: Suggestion | None) -> None:
        if suggestion is not None:
            self._numbers[trial.number] = suggestion.number
        self._told.add(trial.number)  # told when it ends here
        self._mine[pool.submit(self.evaluator.evaluate, trial.configuration, self.cancel)] = trial

    def _collect(self) -> None:
        """Wait for evaluations to end, and write and tell what came out."""
        done, _ = wait(self._mine, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
        if self.cancel.is_set():
            raise CancelledError("interrupted")
        for future in done:
            outcome = self._judged(self._mine[future].configuration, future.result())
            trial = self._mine.pop(future)
            evaluation = evaluation_of(outcome, trial.configuration, self.task.objectives, self.task.limits)
            self.log.finish(
                trial, evaluation, outcome, objectives=self.task.objectives, elapsed_s=self.elapsed_s
            )
            self.search.tell(evaluation, self._numbers.pop(trial.number, None))
            self.on_progress(self._progress(trial, evaluation))

    def _judged(self, configuration: Settings, outcome: Outcome) -> Outcome:
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
        """Why to start nothing more; None to go on."""
        if self.cancel.is_set():
            return "interrupted"
        evaluations, stop = self.search.evaluations, self.task.stop
        under_way = len(self._mine) + self._elsewhere
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

    def _finals(self, pool: ThreadPoolExecutor) -> None:
        """Measure the best few again, in turns, so that the winner is not the luckiest."""
        best = _best(self.search, self.task.finalists)
        done = sum(item.origin == "repeat" for item in self.log.trials())
        turns = [configuration for _ in range(REPEATS) for configuration in best][done:]
        for configuration in turns if len(best) > 1 else ():
            until = None if self.timeout_s is None else self.clock() + self.timeout_s
            again = Suggestion(number=-1, configuration=configuration, origin="repeat")
            trial = self.log.start(again, self.task.space, owner=self._owner, until=until)
            self._submit(pool, trial, None)
            while self._mine:
                self._collect()

    def _interrupt(self, *, requeue: bool) -> None:
        """End what is under way, and queue it again unless the log is away."""
        self.cancel.set()
        for future, trial in list(self._mine.items()):
            if not future.cancel():
                wait([future])
            if requeue:
                self.log.requeue(trial)
        self._mine.clear()

    def _last_reason(self) -> str:
        reasons = [item.reason for item in self.search.evaluations if item.reason]
        return reasons[-1] if reasons else "no reason was given"

    def _progress(self, trial: LoggedTrial | None, evaluation: Evaluation | None = None) -> Progress:
        evaluations, stop = self.search.evaluations, self.task.stop
        spans = [item.cost_s for item in evaluations if item.cost_s is not None]
        left = None
        if stop.evaluations is not None and spans:
            left = max(0, stop.evaluations - len(evaluations)) * statistics.fmean(spans) / self.task.jobs
        if stop.time_s is not None:
            remaining = max(0.0, stop.time_s - self.elapsed_s)
            left = remaining if left is None else min(left, remaining)
        if trial is not None and evaluation is not None:
            trial = replace(trial, evaluation=evaluation)
        return Progress(
            trial=trial,
            done=len(evaluations),
            most=stop.evaluations,
            best=self.search.incumbent,
            running=len(self._mine),
            left_s=left,
            elapsed_s=self.elapsed_s,
        )


def _best(search: Search, count: int) -> list[Settings]:
    """The configurations with the best values of the first objective that keep the limits, near the best."""
    sign = 1 if search.objectives[0].better is Better.LOWER else -1
    by_configuration: dict[Settings, list[float]] = {}
    for item in search.evaluations:
        if item.ok and item.values[0] is not None and search.keeps_limits(item):
            by_configuration.setdefault(item.configuration, []).append(sign * item.values[0])
    means = {item: statistics.fmean(values) for item, values in by_configuration.items()}
    ordered = sorted(means, key=lambda item: (means[item], item.digest))[:count]
    near = [item for item in ordered if abs(means[item] - means[ordered[0]]) <= NEAR * abs(means[ordered[0]])]
    return near if len(near) > 1 else ordered[:2]  # one that stands alone may have been lucky
