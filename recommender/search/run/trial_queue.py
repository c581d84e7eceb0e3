"""The trials of a search as one of its workers finds them: what ended, what others are at, what comes next.

Choosing what comes next is done by one worker at a time: it reads what all others have, and writes down what
it took, before the next one reads. So none proposes what another has, and no budget is overdrawn.
"""

import itertools
import logging
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kg.nouns.entities import Better
from kg.nouns.values import Settings
from recommender.measuring.marks import kill_marked
from recommender.search.engine.search import Search
from recommender.search.evaluations import Suggestion
from recommender.search.log.study import SearchLog
from recommender.search.log.trial_record import LoggedTrial
from recommender.search.log.workers import MANUAL, Watch, gone_here, is_gone, pid_here, worker
from recommender.search.run.task import Task

REPEATS = 4
"""Repeated measurements of each finalist, in turns so that drift favours none; a choice."""
NEAR = 0.25
"""Largest distance of a finalist from the best, beyond the second; a slower one will not turn out faster; a
choice."""


def turns(trials: Sequence[LoggedTrial], search: Search, count: int) -> list[Settings]:
    """The configurations to measure again, in the order in which every worker does it.

    Args:
        trials: Of the search; what repetitions gave does not change who is a finalist.
        search: Tells what keeps the limits.
        count: Finalists at most.

    Returns:
        Each finalist ``REPEATS`` times; none where there is but one.
    """
    best = _best(trials, search, count)
    return [configuration for _ in range(REPEATS) for configuration in best] if len(best) > 1 else []


def _best(trials: Sequence[LoggedTrial], search: Search, count: int) -> list[Settings]:
    """The configurations with the best values of the first objective that keep the limits, near the best."""
    objective = next(iter(search.objectives))
    sign = 1 if objective.better is Better.LOWER else -1
    by_configuration: dict[Settings, list[float]] = {}
    for trial in trials:
        item = trial.evaluation
        if item is None or trial.origin == "repeat" or not item.ok or not search.keeps_limits(item):
            continue
        value = next(iter(item.values), None)
        if value is not None:
            by_configuration.setdefault(item.configuration, []).append(sign * value)
    means = {item: statistics.fmean(values) for item, values in by_configuration.items()}
    ordered = sorted(means, key=lambda item: (means[item], item.digest))[:count]
    near = [item for item in ordered if abs(means[item] - means[ordered[0]]) <= NEAR * abs(means[ordered[0]])]
    return near if len(near) > 1 else ordered[:2]  # one that stands alone may have been lucky


_COUNT = itertools.count()
"""Tells the workers of one process apart."""

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class TrialQueue:
    """The trials of a search as one of its workers sees them.

    Attributes:
        log: Of the search.
        task: What is searched.
        search: Proposes; is told what ended, here and elsewhere, and what is being evaluated.
        watch: Finds workers that have fallen silent.
        mark: Marks the processes of commands; empty without a command.
        clock: Unix time.
        owner: Who this worker is.
        mine: By number, what is being evaluated here.
        trials: All of them, as they were read last.
        requeued: How many trials of workers that are gone this one has queued again.
    """

    log: SearchLog
    task: Task
    search: Search
    watch: Watch
    mark: str = ""
    clock: Callable[[], float] = time.time
    owner: str = field(default_factory=lambda: f"{worker()}:{next(_COUNT)}")
    mine: dict[int, LoggedTrial] = field(default_factory=dict)
    trials: list[LoggedTrial] = field(default_factory=list)
    requeued: int = 0
    _reported: set[int] = field(default_factory=set)
    _numbers: dict[int, int] = field(default_factory=dict)
    _suggestion: Suggestion | None = None

    @property
    def elsewhere(self) -> int:
        """Number of trials that others evaluate, people included."""
        return sum(item.state == "RUNNING" and item.number not in self.mine for item in self.trials)

    @property
    def others(self) -> int:
        """Number of trials that other workers evaluate."""
        return sum(
            item.state == "RUNNING" and item.number not in self.mine and item.owner != MANUAL
            for item in self.trials
        )

    def catch_up(self) -> None:
        """Read the log, tell the search what is new in it, and queue again what was left."""
        self.trials = self.log.trials()
        silent = self._silent()
        abandoned = [item for item in self.trials if self._is_abandoned(item, silent)]
        if abandoned:
            self._take_back(abandoned)
            self.trials = self.log.trials()
        for trial in self.trials:
            if trial.number in self._reported:
                continue
            self._recognise(trial)
            if trial.evaluation is not None:
                self._reported.add(trial.number)
                self.search.tell(trial.evaluation, self._numbers.pop(trial.number, None))
            elif trial.state in {"RUNNING", "WAITING"} and trial.origin != "repeat":
                self._hold(trial)

    def take(self, until: float | None, stopped: Callable[[], bool]) -> LoggedTrial | None:
        """The next trial for this worker, which nobody else has; None if there is none.

        Args:
            until: Unix time by which its evaluation will have ended; None if that is unknown.
            stopped: Whether nothing new may be begun, asked once all others are known.
        """
        self.catch_up()  # what takes long is learned before the others are kept waiting
        return self._keep(self.log.exclusively(lambda: self._next(until, stopped)))

    def take_final(self, until: float | None) -> LoggedTrial | None:
        """The next repetition of a finalist; None if there is none, or another worker is at one."""
        return self._keep(self.log.exclusively(lambda: self._next_final(until)))

    def ended(self, trial: LoggedTrial, *, kept: bool) -> int | None:
        """Take note that a trial has ended here.

        Args:
            trial: Which.
            kept: Whether its result was written; else another worker tells it.

        Returns:
            The number of its suggestion, for ``Search.tell``; None if it was not proposed here.
        """
        del self.mine[trial.number]
        if not kept:
            return None
        self._reported.add(trial.number)
        return self._numbers.pop(trial.number, None)

    def give_back(self) -> None:
        """Queue again all that is being evaluated here, and what was drawn when the interruption came."""
        for trial in self.log.trials():
            if trial.state == "RUNNING" and trial.owner == self.owner:
                self.log.requeue(trial, is_ours=True)
        self.mine.clear()

    def _keep(self, trial: LoggedTrial | None) -> LoggedTrial | None:
        if trial is not None:
            self.mine[trial.number] = trial
        return trial

    def _next(self, until: float | None, stopped: Callable[[], bool]) -> LoggedTrial | None:
        self.catch_up()
        found = self._lost()
        if found is not None or stopped():
            return found
        if (found := self._claim_waiting(until)) is not None:
            return found
        if self._suggestion is None:
            self._suggestion = next(iter(self.search.ask(1)), None)
        if self._suggestion is None:
            return None
        trial = self.log.start(self._suggestion, self.task.space, owner=self.owner, until=until)
        self._numbers[trial.number] = self._suggestion.number
        self._suggestion = None
        return trial

    def _next_final(self, until: float | None) -> LoggedTrial | None:
        self.catch_up()
        if self.others:
            return None
        if (found := self._lost() or self._claim_waiting(until)) is not None:
            return found
        begun = sum(item.origin == "repeat" for item in self.trials)
        again = turns(self.trials, self.search, self.task.finalists)[begun:]
        if not again:
            return None
        suggestion = Suggestion(number=-1, configuration=again[0], origin="repeat")
        return self.log.start(suggestion, self.task.space, owner=self.owner, until=until)

    def _lost(self) -> LoggedTrial | None:
        """A trial that this worker has taken, of which the storage's answer was lost."""
        own = (item for item in self.trials if item.state == "RUNNING" and item.owner == self.owner)
        return next((item for item in own if item.number not in self.mine), None)

    def _claim_waiting(self, until: float | None) -> LoggedTrial | None:
        """A trial that waited, now taken; None if there is none."""
        waiting = [item for item in self.trials if item.state == "WAITING"]
        claims = (self.log.claim(item, owner=self.owner, until=until) for item in waiting)
        return next(filter(None, claims), None)

    def _hold(self, trial: LoggedTrial) -> None:
        """Tell the search that a configuration is being evaluated."""
        if trial.number not in self._numbers:
            self._numbers[trial.number] = self.search.hold(trial.configuration)

    def _recognise(self, trial: LoggedTrial) -> None:
        """See whether a trial is what this worker was about to begin when its turn was lost.

        It is its own then, or of another worker, which has chosen the same since and may even have ended.
        """
        if self._suggestion is not None and self._suggestion.configuration == trial.configuration:
            self._numbers[trial.number] = self._suggestion.number
            self._suggestion = None

    def _is_abandoned(self, trial: LoggedTrial, silent: set[int]) -> bool:
        """True if a trial is running under a worker that is gone."""
        if trial.state != "RUNNING" or trial.owner in {MANUAL, self.owner}:
            return False
        if trial.beat is not None and not gone_here(trial.owner):
            return trial.number in silent  # elsewhere, or a process that is there and does nothing
        return is_gone(trial.owner, trial.until, self.clock())

    def _silent(self) -> set[int]:
        """Trials of other workers whose beats have stopped."""
        beats = {
            item.number: (item.owner, item.beat)
            for item in self.trials
            if item.state == "RUNNING" and item.beat is not None and item.owner not in {MANUAL, self.owner}
        }
        return self.watch.look(beats, time.monotonic())

    def _take_back(self, abandoned: list[LoggedTrial]) -> None:
        for trial in abandoned:
            if self.mark and gone_here(trial.owner) and (pid := pid_here(trial.owner)) is not None:
                kill_marked(f"{self.mark}/{pid}")  # its command may have outlived it
            if self.log.requeue(trial):
                self.requeued += 1
                _log.info("trial %d was left by a worker that is gone: queued again", trial.number)
