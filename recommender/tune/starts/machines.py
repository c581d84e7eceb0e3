"""Other machines like this one, on which starts are measured at the same time as here.

Each runs a process of ours (``workspace/tune_machine.py``), begun by a command of the user such as
``ssh HOST``. It is told starts by lines of JSON, and ends what it started once the pipe to it closes. The
journal is here alone. Both sides of a comparison run on one machine: numbers of two are never compared.
"""

from __future__ import annotations

import json
import queue
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

from kg.errors import InputError, TuningError
from recommender.measuring.environment import capture
from recommender.measuring.outcome import CancelledError
from recommender.tune.engine_process import telling_line
from recommender.tune.launch_script import LaunchScript
from recommender.tune.tune_journal import TuneJournal
from recommender.tune.tune_result import TuneEvaluator, TuneObjective, TuneResult, TuneStart

T = TypeVar("T")

_WORKER = "recommender.workspace.tune_machine"
_SSH = ("ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", "--")
"""Asks for no password, takes no name for an option; silent for the intervals of ssh, a machine is gone."""
_FIRST_S = 60.0
"""For a machine to say what it is, or to end what it started; a choice, as a shared disk may be slow."""
_TICK_S = 0.1
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NO_NAME = re.compile(r"[^\w.=-]+")


class MachineGoneError(TuningError):
    """A machine measures no more; what it was at is measured by others."""


@dataclass(slots=True, kw_only=True)
class TuneMachine:
    """A machine that measures: how it is told, which is empty for this one, and what measures on it."""

    name: str
    evaluator: TuneEvaluator


def at_once(
    jobs: Sequence[tuple[TuneMachine, Callable[[], T]]],
) -> list[T | MachineGoneError]:
    """Do the work of each machine at the same time, the first by this thread; in their order.

    Raises:
        TuningError: What the first or another ends with, but for a machine that is gone.
    """
    if not jobs:
        return []
    with ThreadPoolExecutor(len(jobs)) as pool:
        begun = [pool.submit(job) for _, job in jobs[1:]]
        found: list[T | MachineGoneError] = [jobs[0][1]()]
        for future in begun:
            try:
                found.append(future.result())
            except MachineGoneError as gone:
                found.append(gone)
    return found


@dataclass(slots=True, kw_only=True)
class RemoteEvaluator:
    """Has starts measured on another machine.

    Attributes:
        objective: The metric that the evaluations measure.
        journal: Of the tune: tells how its requests were calibrated here.
        process: Ours there, or what leads to it.
        errors: What that says beside its answers.
        answers: What it answers; None once it has ended.
    """

    objective: TuneObjective
    journal: TuneJournal
    process: subprocess.Popen[str]
    errors: Path
    answers: queue.Queue[dict[str, Any] | None] = field(default_factory=queue.Queue)

    @classmethod
    def begin(
        cls,
        text: str,
        request: Mapping[str, object],
        objective: TuneObjective,
        script: LaunchScript,
        journal: TuneJournal,
    ) -> RemoteEvaluator:
        """Begin our process on a machine.

        Args:
            text: Host for ssh, or the words before our command that run it there.
            request: Of the tune, as plain content.
            objective: Of the tune.
            script: The user's.
            journal: Of the tune.

        Raises:
            InputError: It cannot be reached, or is another kind of machine.
        """
        words = shlex.split(text)
        place = journal.folder / "machines" / _NO_NAME.sub("_", machine_name(text))
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        command = [*(words if len(words) > 1 else [*_SSH, *words]), sys.executable, "-P", "-m", _WORKER]
        try:
            with (place / "machine.log").open("w") as stream:
                process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stream,
                    text=True, start_new_session=True,
                )  # fmt: skip
        except OSError as fault:
            raise InputError(f"--on {text}: {command[0]}: {fault.strerror}") from None
        made = cls(objective=objective, journal=journal, process=process, errors=place / "machine.log")
        threading.Thread(target=made._listen, daemon=True).start()
        content = {**request, "machines": []}
        try:
            made._tell({"request": content, "text": script.source, "folder": str(place)})
            found = made.answers.get(timeout=_FIRST_S)
        except (MachineGoneError, queue.Empty):
            found = None
        reason = made._last() if found is None else str(found.get("fault", "")) or _unlike(found)
        if reason:
            made.close()
            raise InputError(f"--on {text}: {reason}", hint="machines alike, with tunegraph at the same path")
        return made

    def evaluate(self, start: TuneStart, cancel: Event) -> TuneResult:
        """See :class:`TuneEvaluator`."""
        self._tell({"start": start.to_json(), "calibrated": self.journal.last("calibrated")})
        is_told = False
        while True:
            with suppress(queue.Empty):
                found = self.answers.get(timeout=_TICK_S)
                if found is None or "fault" in found:
                    raise MachineGoneError(self._last() if found is None else str(found["fault"]))
                if "result" not in found:
                    raise CancelledError("the evaluation was interrupted")
                return TuneResult.from_json(found["result"])
            if cancel.is_set() and not is_told:
                is_told = True
                self._tell({"cancel": True})

    def close(self) -> None:
        """Let it end what it started, and itself."""
        with suppress(OSError, AttributeError):
            self.process.stdin.close()  # type: ignore[union-attr]
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_FIRST_S)
        self.process.kill()
        self.process.wait()

    def _tell(self, content: Mapping[str, object]) -> None:
        try:
            print(json.dumps(content), file=self.process.stdin, flush=True)
        except (OSError, ValueError):
            raise MachineGoneError(self._last()) from None

    def _listen(self) -> None:
        for line in self.process.stdout or ():
            with suppress(ValueError):  # what the profile of a shell prints
                if isinstance(content := json.loads(line), dict):
                    self.answers.put(content)
        self.answers.put(None)

    def _last(self) -> str:
        """Reason why it answers no more."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(1.0)
        code = self.process.poll()
        return telling_line(self.errors) or ("it does not answer" if code is None else f"exit code {code}")


@dataclass(frozen=True, slots=True)
class GoneEvaluator:
    """Stands for a machine that is not there any more: what it measured before counts."""

    objective: TuneObjective

    def evaluate(self, start: TuneStart, cancel: Event) -> TuneResult:  # noqa: ARG002
        """See :class:`TuneEvaluator`."""
        raise MachineGoneError("it was not reached")


def machine_name(text: str) -> str:
    """The name of a machine: the last word of how it is reached.

    Raises:
        InputError: There is none.
    """
    try:
        return shlex.split(text)[-1]
    except (IndexError, ValueError):
        raise InputError(f"--on {text}: no host", hint="--on node2, or --on 'srun -w node2'") from None


def facts() -> dict[str, Any]:
    """Facts of this machine by name."""
    boot = _BOOT.read_text().strip() if _BOOT.is_file() else ""
    return {**capture({}), "boot": boot}


def _unlike(found: Mapping[str, Any]) -> str:
    """Reason not to measure on a machine beside this one; empty if there is none."""
    here = facts()
    for name in ("processor", "cores", "accelerators"):
        if found.get(name) != here.get(name):
            return f"another kind of machine: {name} {found.get(name)}, here {here.get(name)}"
    if found.get("boot") == here["boot"] and "accelerators" in here:
        return "it is this machine, whose devices one start at a time may use"
    return ""
