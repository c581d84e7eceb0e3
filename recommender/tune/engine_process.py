"""A process that runs on: started with a mark, watched until it is ready, and ended with its own grace."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from ingest.questions.patches.script_edits import ScriptEdits
from recommender.measuring.device_memory import HeldMemory, free_host, held_host
from recommender.measuring.guardian import guard
from recommender.measuring.marks import MARK, end_marked, marked, new_mark
from recommender.measuring.masking import masked
from recommender.measuring.outcome import CancelledError
from recommender.measuring.process import FREE_BYTES, Bounds, ProcessResult, run, spawn
from recommender.tune.containers import LABEL, ContainerCommand
from recommender.tune.http_stream import Address
from recommender.tune.launch_script import LaunchScript
from recommender.tune.ports import is_held_by, ports_of

_TICK_S = 0.01
_TAIL_BYTES = 64 << 10
_LONGEST = 4
"""Times the silence allowed that a start may take in all, however much it says; a choice."""
_LEAST_FREE = 0.05
"""Part of the machine's memory that a start must leave free; earlyoom kills below it (its manual, -m)."""
_LOOK_S = 0.5
_REASON = re.compile(
    r"no such file|not found|permission denied|out of memory|already in use|\w(?:error|exception): ."
)
_NO_REASON = "root cause"
"""In what only sends its reader to another line."""
_TELLS = ("error", "exception", "fatal", "failed", "cannot", "unknown", "invalid", "unrecognized", "no such")


class StartError(Exception):
    """A configuration that did not get ready, or ended; a property of the configuration."""


@dataclass(slots=True, kw_only=True)
class EngineProcess:
    """A server or a training run that was started here.

    Attributes:
        process: What was started.
        mark: In the environment of all that it starts.
        log: What it says.
        grace_s: From being asked to end to being killed.
        before: Memory of the devices before it was started.
        container: What runs it in a container; None where nothing does.
        over: That it was killed for the room it took; empty while it was not.
    """

    process: subprocess.Popen[bytes]
    mark: str
    log: Path
    grace_s: float
    before: HeldMemory
    container: ContainerCommand | None = None
    over: str = ""

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        log: Path,
        mark: str,
        grace_s: float,
        container: ContainerCommand | None = None,
    ) -> EngineProcess:
        """Start a command.

        Args:
            command: Program and arguments.
            folder: Where it runs.
            environment: All of its environment; the mark is added.
            log: Where its output goes; made new.
            mark: Of this start.
            grace_s: From being asked to end to being killed.
            container: What runs it in a container, which carries the mark as a label.

        Raises:
            InputError: It cannot be started at all.
        """
        guard(grace_s, "" if container is None else container.runtime)
        before = HeldMemory.now()
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            marks = {**environment, MARK: mark}
            process = spawn(command, command[0], folder, marks, out=descriptor, err=subprocess.STDOUT)
        finally:
            os.close(descriptor)
        made = cls(process=process, mark=mark, log=log, grace_s=grace_s, before=before, container=container)
        threading.Thread(target=made._watch_room, daemon=True).start()
        return made

    def _watch_room(self) -> None:
        """Kill it before the machine, with the servers of others on it, is out of memory or disk."""
        before = shutil.disk_usage(self.log.parent).free
        while self.process.returncode is None and not self.over:
            time.sleep(_LOOK_S)
            free, whole = free_host()
            left = shutil.disk_usage(self.log.parent).free
            if free < _LEAST_FREE * whole and (held := held_host(self.pids)) > free:
                self.over = f"killed: it holds {held >> 20} MiB, and {free >> 20} of the machine's are left"
            elif left < min(FREE_BYTES, before / 2):
                self.over = f"killed: {left >> 20} MiB are left on the disk of its log"
            if self.over:
                end_marked(self.mark, 0.0)
                if self.container is not None:
                    self.container.end(f"{LABEL}={self.mark}", 0.0)

    @property
    def pids(self) -> list[int]:
        """Its processes, those in its container too."""
        inside = () if self.container is None else self.container.pids(self.mark)
        return [*marked(self.mark), *inside]

    def argument(self, names: Sequence[str]) -> str:
        """The value of the first of some flags or variables in its processes' command lines; else empty."""
        words: list[str] = []
        for pid in self.pids:
            for part in ("cmdline", "environ"):
                with suppress(OSError):
                    words += Path(f"/proc/{pid}/{part}").read_text(errors="replace").split("\0")
        for name in names:
            if name.startswith("-") and name in words[:-1]:
                return words[words.index(name) + 1]
            if found := next((word for word in words if word.startswith(f"{name}=")), ""):
                return found.partition("=")[2]
        return ""

    def holds(self, port: int) -> bool | None:
        """True if it listens on a port; None where that cannot be seen."""
        if self.container is not None and self.container.publishes(self.mark, port):
            return True
        held = is_held_by(port, self.pids)
        return None if held is False and self.container is not None else held

    @property
    def end(self) -> str:
        """The way it ended, with its last message; empty while anything of it lives."""
        code = self.process.poll()
        if self.over:
            return self.over
        if code is None or (code == 0 and self.pids):  # a script that leaves its server behind
            return ""
        how = f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"
        said = telling_line(self.log)
        return f"{how}: {said}" if said else how

    def wait_ready(
        self, is_ready: Callable[[], bool], asked: str, *, silence_s: float, cancel: Event
    ) -> float:
        """Wait until it is ready; the seconds that took.

        Args:
            is_ready: Asked again and again.
            asked: What that asks, in words.
            silence_s: After so long without a word in its log it is given up.
            cancel: Ends the wait when set.

        Raises:
            StartError: It ended, or does not get ready.
            CancelledError: ``cancel`` was set.
        """
        began = heard = time.monotonic()
        size, tick = -1, _TICK_S
        while True:
            if is_ready():
                return time.monotonic() - began
            if end := self.end:
                raise StartError(f"it ended before it was ready ({end})")
            now, before = time.monotonic(), size
            size = self.log.stat().st_size
            heard = now if size != before else heard
            if now - heard > silence_s or now - began > _LONGEST * silence_s:
                said = telling_line(self.log)
                last = f"; it said last: {said}" if said else "; it said nothing"
                ports = ", ".join(map(str, ports_of(self.pids))) or "no port"
                text = f"not ready after {now - began:.0f} s: {asked} does not answer, it listens on {ports}"
                raise StartError(f"{text}{last}")
            if cancel.wait(tick):
                raise CancelledError("the start was interrupted")
            tick = min(0.5, 1.2 * tick)

    def stop(self) -> int:
        """Ask it to end, wait for its grace, kill what carries its mark then and nothing else; how many."""
        killed = end_marked(self.mark, self.grace_s)
        if self.container is not None:
            self.container.end(f"{LABEL}={self.mark}", self.grace_s)
        for number in (signal.SIGTERM, signal.SIGKILL):  # without marks the group is all there is
            if self.process.poll() is None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.process.pid, number)
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(self.grace_s)
        self.process.wait()
        return killed


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlace:
    """Place of a launch: the script, its environment, and where its logs go.

    Attributes:
        script: The user's.
        base: Environment of all starts.
        folder: Where logs are kept, in a folder of the number of each start.
        mark: Of the tune.
        silence_s: A start that says nothing for so long is given up.
    """

    script: LaunchScript
    base: Mapping[str, str]
    folder: Path
    mark: str
    silence_s: float

    def text(self, edits: ScriptEdits) -> str:
        """The script with edits written into it.

        Raises:
            StartError: One cannot be written: what ran would be another configuration.
        """
        text, unwritten = self.script.with_edits(edits)
        if unwritten:
            raise StartError(f"it cannot be written: {'; '.join(unwritten)}")
        return text

    def start(self, text: str, edits: ScriptEdits, number: int, **more: str) -> EngineProcess:
        """Start a text of :meth:`text`; of a command that nothing here knows, variables are given to it."""
        given = {} if self.script.program else edits.variables
        mark, container = new_mark(self.mark), self.script.container
        return EngineProcess.start(
            self.script.command(text if container is None else container.labelled(text, mark)),
            folder=self.script.folder,
            environment={**more, **self.base, **given},
            log=self.folder / f"{number:03d}" / f"{'server' if self.script.is_server else 'train'}.log",
            mark=mark,
            grace_s=self.script.engine.grace_s,
            container=container,
        )

    def ask(
        self, command: Sequence[str], address: Address, timeout_s: float, cancel: Event, **more: str
    ) -> tuple[ProcessResult, str]:
        """Run a program that asks a server; its end, and the last line that it said, without the key.

        Raises:
            CancelledError: ``cancel`` was set.
        """
        key = {"OPENAI_API_KEY": address.key} if address.key else {}
        ended = run(
            command,
            folder=self.script.folder,
            environment={**self.base, **key, **more},
            bounds=Bounds(timeout_s=timeout_s),
            cancel=cancel,
            mark=self.mark,
        )
        lines = [line.strip() for line in (ended.out + ended.err).splitlines() if line.strip()]
        return ended, address.covered(lines[-1])[:200] if lines else ""


def telling_line(log: Path) -> str:
    """The last line of a log with a reason, else of a fault, else any: cut, without secrets; or empty."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    faults = [line for line in lines if any(word in line.lower() for word in _TELLS)]
    reasons = [line for line in faults if _REASON.search(line.lower()) and _NO_REASON not in line.lower()]
    return masked((reasons or faults or lines or [""])[-1])[:240]
