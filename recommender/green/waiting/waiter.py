"""Waiting for a clean time, planned anew every half hour, and running a command then.

A waiter never blocks its command for want of knowledge: without a series, with a damaged one, or when the
clock makes no sense, it runs at once and says why. Its state lies in a file, so that the same call goes on
after a restart with the deadline it was given first.
"""

import hashlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from kg.errors import InfeasibleError, TuningError, WorkspaceError
from recommender.green.history import SLOT_S
from recommender.green.outlook import outlook
from recommender.green.plan import GreenJob, GreenPlan
from recommender.green.planner import make_plan
from recommender.green.shelf import GreenShelf
from recommender.green.waiting.command import WaitedCommand
from recommender.green.waiting.outcome import record_of
from recommender.green.waiting.state import HeldLock, WaitState


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitRequest:
    """A command that waits.

    Attributes:
        command: Program and arguments.
        job: How long it runs and by when; its deadline is the first one given, also after a restart.
        region: Of the grid.
        name: Name of its state, any text; made from the command where empty.
        devices: Devices it runs on; one waiter at a time runs a command on each.
        pauses_by: ``stop`` pauses a split job with SIGSTOP, ``restart`` ends it with SIGTERM and starts it
            again.
        folder: Where the command runs.
    """

    command: tuple[str, ...]
    job: GreenJob
    region: str = ""
    name: str = ""
    devices: tuple[str, ...] = ()
    pauses_by: str = "stop"
    folder: str = "."

    @property
    def key(self) -> str:
        """Name of its files: a digest of the given name, or of command, folder and region."""
        text = self.name or "\0".join((os.path.realpath(self.folder), self.region, *self.command))
        return f"wait-{hashlib.sha256(text.encode(errors='surrogateescape')).hexdigest()[:16]}"


@dataclass(slots=True)
class Clocks:
    """The clocks and the sleep of a waiter: passed in, so that a test can live a night in a moment.

    Attributes:
        now: The wall clock, with its zone; may be set back.
        passed: Seconds that have truly passed since some moment.
        sleep: Sleeps that many seconds; the waiter's own if None, which a signal ends.
    """

    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    passed: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] | None = None


REPLAN_S = 1800.0
TICK_S = 15.0
"""Longest sleep: a clock that was changed and a new series are seen within it."""

JUMP_S = 120.0
"""Difference between the clock and the time that passed from which the clock was changed."""


class Waiter:
    """Waits for a request's time, runs its command, and gives back its exit code.

    Args:
        shelf: Series of the workspace.
        request: The command.
        say: Tells the user one line.
        clocks: Time.
    """

    def __init__(
        self,
        shelf: GreenShelf,
        request: WaitRequest,
        say: Callable[[str], None],
        clocks: Clocks | None = None,
    ) -> None:
        self._shelf = shelf
        self._say = say
        self._clocks = clocks or Clocks()
        self._folder = shelf.folder / "waiting"
        self._state = self._folder / f"{request.key}.json"
        self.request = request
        self._command = WaitedCommand(request.command, request.folder, request.pauses_by)
        self._locks: list[HeldLock] = []
        self._signal = 0
        self._woken = os.pipe()
        self.plans: list[GreenPlan] = []
        self.spans: list[tuple[datetime, datetime]] = []

    def run(self) -> int:
        """Wait, run, and return the exit code: the command's, or 128 and the signal that ended the wait.

        Raises:
            InfeasibleError: The deadline has passed or is too near, at the first call.
            WorkspaceError: A waiter of this name is waiting already, or its command is still running.
        """
        with self._signals():
            try:
                try:
                    self._folder.mkdir(parents=True, exist_ok=True)
                    lock = HeldLock(self._folder / f"{self.request.key}.lock")
                except OSError as fault:
                    self._say(f"no state can be kept in {self._folder} ({fault.strerror}): running at once")
                    return self._run(self.request.job)
                if not lock.take():
                    lock.close(lets_go=False)
                    raise self._taken()
                self._locks.append(lock)
                return self._locked_run()
            finally:
                for held in self._locks:  # a command that outlives a fault here goes on holding them
                    held.close(lets_go=not self._command.is_alive)

    def _taken(self) -> WorkspaceError:
        state = WaitState.read(self._state)
        if state is None or state.process is None:
            return WorkspaceError("this command is waiting already", hint="another --name waits beside it")
        return WorkspaceError(
            f"this command is running already, as process {state.process}",
            hint=f"wait for its end; killed in a pause, it goes on after kill -CONT -{state.process}",
        )

    def _locked_run(self) -> int:
        begun = self._clocks.passed()
        job, was_running = self._resumed()
        started = self._clocks.now()
        plan = self._plan(job, is_first=True)
        self._write("waiting", job)
        budget_s = (job.deadline - started).total_seconds() - job.duration_s
        try:
            if was_running:
                self._say("it was running when its waiter ended, and is no more: running it again at once")
            elif not self._wait(job, plan, begun, budget_s):
                self._say(f"ended by signal {self._signal} while waiting; the same call goes on waiting")
                return 128 + self._signal
            return self._run(job)
        finally:
            has_begun = self._command.pid is not None
            has_ended = has_begun and not self._command.is_alive and not self._command.is_put_off
            if has_ended or (not has_begun and not self._signal):
                self._state.unlink(missing_ok=True)

    def _resumed(self) -> tuple[GreenJob, bool]:
        """The job with its first deadline, and whether its command had begun."""
        state = WaitState.read(self._state)
        if state is None:
            return self.request.job, False
        was_running = state.state == "running"
        deadline = f"{state.deadline.astimezone():%Y-%m-%d %H:%M}"
        if not was_running and state.deadline <= self._clocks.now():
            self._say(f"an earlier wait for {deadline} was left over: it begins anew with this deadline")
            self._state.unlink(missing_ok=True)
            return self.request.job, False
        ignored = "" if state.deadline == self.request.job.deadline else "; --by of this call is not taken"
        self._say(f"going on after a restart: the deadline is {deadline}{ignored}")
        return replace(self.request.job, deadline=state.deadline), was_running

    def _write(self, state: str, job: GreenJob) -> None:
        try:
            WaitState(
                state=state,
                deadline=job.deadline,
                command=self.request.command,
                waiter=os.getpid(),
                process=self._command.pid,
            ).write(self._state)
        except OSError as fault:
            self._say(f"the state cannot be kept ({fault.strerror}): a restart would begin anew")

    def _plan(self, job: GreenJob, *, is_first: bool, is_running: bool = False) -> GreenPlan | None:
        """The plan as of now; None where it runs at once, which has been said."""
        now = self._clocks.now()
        try:
            stored = self._shelf.load(self.request.region) if self.request.region else None
            seen = outlook(
                stored.series if stored else None,
                now,
                coefficients=stored.coefficients if stored else None,
                published=stored.published if stored else None,
            )
            plan = make_plan(
                job if is_first else replace(job, caution=1.0),
                seen,
                now,
                region=self.request.region,
                will_replan=True,
                is_running=is_running,
                kept_here=1.0 if stored is None else record_of(self._shelf.outcomes, stored.series).factor,
            )
        except InfeasibleError as fault:
            if is_first and not self._state.exists():
                raise
            self._say(f"running at once: {fault}")
            return None
        except (TuningError, ValueError, OSError) as fault:
            self._say(f"running at once: no plan can be made ({fault})")
            return None
        self.plans.append(plan)
        if is_running:
            return plan
        if plan.waits:
            span = f"{plan.saving_low:.0%} to {plan.saving_high:.0%}"
            text = f"{plan.saving:.0%} less carbon expected than at once ({span})"
            start = f"{plan.start.astimezone():%Y-%m-%d %H:%M}"
            self._say(f"waiting until {start}: {text}; planned anew every half hour")
        else:
            self._say(plan.reason)
        for note in plan.notes if is_first else ():
            self._say(note)
        return plan

    def _wait(self, job: GreenJob, plan: GreenPlan | None, begun: float, budget_s: float) -> bool:
        """Sleep until the plan says to run; False if a signal came first."""
        clocks = self._clocks
        planned_at = clocks.passed()
        offset = clocks.now().timestamp() - clocks.passed()
        while plan is not None and plan.start > clocks.now():
            left_s = budget_s - (clocks.passed() - begun)
            if left_s <= 0:
                self._say("running now: it is the last moment before the deadline")
                break
            until_s = (plan.start - clocks.now()).total_seconds()
            self._sleep(max(0.0, min(TICK_S, until_s, left_s)))
            if self._signal:
                return False
            drift = clocks.now().timestamp() - clocks.passed() - offset
            if abs(drift) > JUMP_S:
                self._say(f"the clock was set {_way(drift)} by {abs(drift):.0f} s: planning anew")
                offset += drift
                planned_at = -REPLAN_S + clocks.passed()
            if clocks.passed() - planned_at >= REPLAN_S:
                planned_at = clocks.passed()
                remaining = timedelta(seconds=max(0.0, budget_s - (clocks.passed() - begun)) + job.duration_s)
                honest = replace(job, deadline=min(job.deadline, clocks.now() + remaining))
                plan = self._plan(honest, is_first=False)
        return not self._signal

    def _run(self, job: GreenJob) -> int:
        """Run the command when its devices are free; return its exit code."""
        self._take_devices()
        if self._signal:
            return 128 + self._signal
        begun = self._clocks.now()
        self._command.begin([held.descriptor for held in self._locks])
        self._write("running", job)
        try:
            if job.can_split:
                begun = self._run_in_pieces(job, begun)
            if self._command.is_put_off:  # a signal came in a pause that had ended the command
                return 128 + self._signal
            return self._command.end()
        finally:
            self.spans.append((begun, self._clocks.now()))

    def _run_in_pieces(self, job: GreenJob, begun: datetime) -> datetime:
        """Pause while later times are cleaner and the deadline allows it; return the last piece's begin."""
        clocks = self._clocks
        left_s, is_running = job.duration_s, True
        since = piece_since = clocks.passed()
        due_s = self._till_slot()
        while True:
            if is_running or self.request.pauses_by == "stop":
                if self._command.ends_within(TICK_S):
                    return begun
            else:
                self._sleep(TICK_S)
            if self._signal:
                return begun
            if clocks.passed() - since < due_s:
                continue
            left_s -= (clocks.passed() - since) if is_running else 0.0
            since = clocks.passed()
            due_s = self._till_slot()
            if is_running:
                if left_s <= 0 or since - piece_since < job.least_run_s:
                    continue
                plan = self._plan(replace(job, duration_s=left_s), is_first=False, is_running=True)
                if plan is not None and plan.start > clocks.now() and self._command.pause():
                    self._say("paused: a later time is cleaner")
                    self.spans.append((begun, clocks.now()))
                    is_running = False
                continue
            again_s = max(1.0, left_s + job.restart_s)
            plan = self._plan(replace(job, duration_s=again_s), is_first=False)
            if plan is not None and plan.start > clocks.now():
                due_s = min(due_s, (plan.start - clocks.now()).total_seconds())
                continue
            self._say("going on")
            self._command.resume()
            self._write("running", job)
            left_s, is_running, piece_since, begun = again_s, True, since, clocks.now()

    def _till_slot(self) -> float:
        """Seconds to the next half hour of the clock, when forecasts change, but a minute or more."""
        return max(60.0, SLOT_S - self._clocks.now().timestamp() % SLOT_S)

    def _sleep(self, seconds: float) -> None:
        if self._clocks.sleep is not None:
            self._clocks.sleep(seconds)
        elif not self._signal and select.select([self._woken[0]], [], [], seconds)[0]:
            os.read(self._woken[0], 1)

    def _take_devices(self) -> None:
        """Hold the devices: a second waiter's command begins when the first one's has ended."""
        for device in sorted(set(self.request.devices)):
            try:
                lock = HeldLock.of_device(self._folder, device)
            except OSError as fault:
                self._say(f"device {device} cannot be held ({fault.strerror}): others may use it too")
                continue
            self._locks.append(lock)
            is_said = False
            while not self._signal and not lock.take():
                if not is_said:
                    self._say(f"device {device} runs another waiter's command: this one begins after it")
                is_said = True
                self._sleep(1.0)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Hand SIGTERM, SIGINT and SIGHUP on to the command; before it runs they end the wait."""

        def take(number: int, _frame: object) -> None:
            self._signal = number
            os.write(self._woken[1], b"!")
            if self._command.is_alive:
                self._command.send(number)
                self._command.send(signal.SIGCONT)  # one that is paused hears it when it goes on

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers: Sequence[signal.Signals] = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        before = {number: signal.signal(number, take) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _way(drift: float) -> str:
    return "forward" if drift > 0 else "back"
