"""Waiting for a clean time, planned anew every half hour, and running a command then.

A waiter never blocks its command for want of knowledge: without a series, with a damaged one, or when the
clock makes no sense, it runs at once and says why. Its state lies in a file, so that the same call goes on
after a restart with the deadline it was given first.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import select
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import IO, TYPE_CHECKING, Any

from kg.errors import InfeasibleError, TuningError, WorkspaceError
from kg.whole_files import write_json
from recommender.green.planner import make_plan, outlook
from recommender.green.promises import CAUTION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from recommender.green.plan import GreenJob, GreenPlan
    from recommender.green.shelf import GreenShelf

REPLAN_S = 1800.0
TICK_S = 15.0
"""Longest sleep: a clock that was changed and a new series are seen within it."""

JUMP_S = 120.0
"""Difference between the clock and the time that passed from which the clock was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitRequest:
    """A command that waits.

    Attributes:
        command: Program and arguments.
        job: How long it runs and by when; its deadline is the first one given, also after a restart.
        region: Of the grid.
        name: Name of its state; made from the command where empty.
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
        """Name of the state: the given one, or a digest of command, folder and region."""
        if self.name:
            return self.name
        text = "\0".join((os.path.realpath(self.folder), self.region, *self.command))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


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
        self._process: subprocess.Popen[bytes] | None = None
        self._signal = 0
        self._woken = os.pipe()
        self.plans: list[GreenPlan] = []

    def run(self) -> int:
        """Wait, run, and return the exit code: the command's, or 128 and the signal that ended the wait.

        Raises:
            InfeasibleError: The deadline has passed or is too near, at the first call.
            WorkspaceError: A waiter of this name is waiting already.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = self._lock(self._folder / f"{self.request.key}.lock")
        except OSError as fault:
            self._say(f"no state can be kept in {self._folder} ({fault.strerror}): running at once")
            return self._finish()
        with lock, self._signals():
            return self._locked_run()

    @contextmanager
    def _lock(self, path: Path) -> Iterator[None]:
        holder: IO[str] = path.open("w", encoding="ascii")
        try:
            try:
                fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise WorkspaceError(
                    f"this command is waiting already, as {self.request.key}",
                    hint="another --name waits beside it",
                ) from None
            yield
        finally:
            holder.close()

    def _locked_run(self) -> int:
        begun = self._clocks.passed()
        job, was_running = self._resumed()
        started = self._clocks.now()
        plan = self._plan(job, is_first=True)
        self._write("waiting", job)
        budget_s = (job.deadline - started).total_seconds() - job.duration_s
        try:
            if was_running:
                self._say("it was running when its waiter ended: running it again at once")
                return self._finish()
            if not self._wait(job, plan, begun, budget_s):
                self._say(f"ended by signal {self._signal} while waiting; the same call goes on waiting")
                return 128 + self._signal
            self._write("running", job)
            return self._finish() if not job.can_split else self._finish_split(job)
        finally:
            if self._process is not None or not self._signal:
                self._state.unlink(missing_ok=True)

    def _resumed(self) -> tuple[GreenJob, bool]:
        """The job with its first deadline, and whether its command had begun."""
        try:
            content: Any = json.loads(self._state.read_text(encoding="utf-8"))
            deadline = datetime.fromisoformat(content["deadline"])
            was_running = content["state"] == "running"
        except (OSError, ValueError, KeyError, TypeError):
            return self.request.job, False
        self._say(f"going on after a restart: the deadline is {deadline:%Y-%m-%d %H:%M}")
        return replace(self.request.job, deadline=deadline), was_running

    def _write(self, state: str, job: GreenJob) -> None:
        content = {
            "state": state,
            "deadline": job.deadline.isoformat(),
            "command": list(self.request.command),
            "pid": os.getpid(),
            "since": self._clocks.now().isoformat(timespec="seconds"),
        }
        try:
            write_json(self._state, content)
        except OSError as fault:
            self._say(f"the state cannot be kept ({fault.strerror}): a restart would begin anew")

    def _plan(self, job: GreenJob, *, is_first: bool) -> GreenPlan | None:
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
            plan = make_plan(job, seen, now, region=self.request.region, caution=CAUTION if is_first else 1.0)
        except InfeasibleError as fault:
            if is_first and not self._state.exists():
                raise
            self._say(f"running at once: {fault}")
            return None
        except (TuningError, ValueError, OSError) as fault:
            self._say(f"running at once: no plan can be made ({fault})")
            return None
        self.plans.append(plan)
        if plan.waits:
            span = f"{plan.saving_low:.0%} to {plan.saving_high:.0%}"
            text = f"{plan.saving:.0%} less carbon expected than at once ({span})"
            self._say(f"waiting until {plan.start:%Y-%m-%d %H:%M}: {text}; planned anew every half hour")
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

    def _finish(self) -> int:
        with self._devices():
            self._begin()
            return self._end()

    def _finish_split(self, job: GreenJob) -> int:
        """Run in pieces: pause while later slots are cleaner, as long as the deadline allows."""
        clocks = self._clocks
        with self._devices():
            self._begin()
            worked_s, since = 0.0, clocks.passed()
            is_running = True
            while self._process is not None:
                if is_running or self.request.pauses_by == "stop":
                    try:
                        self._process.wait(timeout=TICK_S)
                        return self._end()
                    except subprocess.TimeoutExpired:
                        pass
                else:
                    self._sleep(TICK_S)
                if self._signal:
                    self._process.send_signal(signal.SIGCONT)
                    return self._end()
                if clocks.passed() - since < REPLAN_S:
                    continue
                worked_s += (clocks.passed() - since) if is_running else 0.0
                since = clocks.passed()
                left_s = job.duration_s - worked_s
                wanted = True
                if left_s > 0:
                    plan = self._plan(replace(job, duration_s=left_s), is_first=False)
                    wanted = plan is None or plan.start <= clocks.now()
                if wanted and not is_running:
                    self._resume()
                elif is_running and not wanted:
                    self._pause()
                is_running = wanted
        return 0

    def _sleep(self, seconds: float) -> None:
        if self._clocks.sleep is not None:
            self._clocks.sleep(seconds)
        elif not self._signal and select.select([self._woken[0]], [], [], seconds)[0]:
            os.read(self._woken[0], 1)

    def _pause(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._say("paused: a later time is cleaner")
            if self.request.pauses_by == "stop":
                os.killpg(self._process.pid, signal.SIGSTOP)
            else:
                self._process.terminate()
                self._process.wait()

    def _resume(self) -> None:
        self._say("going on")
        if self.request.pauses_by == "stop" and self._process is not None:
            os.killpg(self._process.pid, signal.SIGCONT)
        else:
            self._begin()

    def _begin(self) -> None:
        if self._signal:
            return
        self._process = subprocess.Popen(
            self.request.command, cwd=self.request.folder, start_new_session=True
        )

    def _end(self) -> int:
        if self._process is None:
            return 128 + self._signal
        code = self._process.wait()
        return code if code >= 0 else 128 - code

    @contextmanager
    def _devices(self) -> Iterator[None]:
        """Hold the devices: a second waiter's command begins when the first one's has ended."""
        held: list[IO[str]] = []
        try:
            for device in sorted(set(self.request.devices)):
                safe = "".join(letter if letter.isalnum() else "_" for letter in device)
                try:
                    stream = (self._folder / f"device-{safe}.lock").open("w", encoding="ascii")
                except OSError:
                    continue
                held.append(stream)
                is_said = False
                while not self._signal:
                    try:
                        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        break
                    except BlockingIOError:
                        if not is_said:
                            self._say(
                                f"device {device} runs another waiter's command: this one begins after it"
                            )
                        is_said = True
                        self._sleep(1.0)
            yield
        finally:
            for each in held:
                each.close()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Hand SIGTERM, SIGINT and SIGHUP on to the command; before it runs they end the wait."""

        def take(number: int, _frame: object) -> None:
            self._signal = number
            os.write(self._woken[1], b"!")
            if self._process is not None and self._process.poll() is None:
                os.killpg(self._process.pid, number)

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
