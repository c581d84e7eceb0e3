"""One run of a command: a process group of its own, killed as a whole, its output and its time bounded.

Whatever the command leaves behind is found by a mark in its environment and killed too, also where it has
made itself a session of its own (Linux; elsewhere the process group is all that is known).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kg.errors import InputError
from recommender.measuring.guardian import guard
from recommender.measuring.marks import MARK, kill_marked, new_mark
from recommender.measuring.outcome import CancelledError

HEAD, TAIL = 16 << 10, 512 << 10
"""Bytes kept of the beginning and of the end of each output; a metric stands at the end. A choice."""
FREE_BYTES = 256 << 20
"""A command that leaves less than this free on its disk is stopped; a choice."""
GRACE_S = 2.0
"""Between asking a process group to end and killing it, and for output to arrive after its end; a choice."""
_TICK_S = 0.02
_LOOK_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bounds on the time and disk that a run may take.

    Attributes:
        timeout_s: Wall-clock time.
        file_bytes: Size of a single file that it writes.
        disk_bytes: How much the free space of its disk may shrink while it runs.
        grace_s: Between asking it to end and killing it.
    """

    timeout_s: float = 600.0
    file_bytes: int = 8 << 30
    disk_bytes: int = 16 << 30
    grace_s: float = GRACE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessResult:
    """The end of a run: exit code, output, duration.

    Attributes:
        code: Exit code; below zero the signal that ended it.
        out: What it printed, at most head and tail.
        err: The same of standard error.
        wall_s: How long it took.
        stopped: Why it was stopped by us; empty if it ended by itself.
    """

    code: int
    out: str
    err: str
    wall_s: float
    stopped: str = ""


def run(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    bounds: Bounds,
    cancel: threading.Event,
    mark: str,
) -> ProcessResult:
    """Run a command to its end, or end it.

    Args:
        command: Program and arguments.
        folder: Where it runs.
        environment: All of its environment; ``MARK`` is added.
        bounds: What it may take.
        cancel: Ends it when set.
        mark: Beginning of the value of ``MARK``, which tells runs beside each other apart; ``kill_marked``
            finds what all of them started.

    Raises:
        InputError: There is no such program, or it cannot be run.
        CancelledError: ``cancel`` was set.
    """
    mark = new_mark(mark)
    guard(bounds.grace_s)
    limited = _with_file_limit(command, bounds.file_bytes)
    started = time.monotonic()
    process = spawn(limited, command[0], folder, {**environment, MARK: mark})
    out, err, ended = _Kept(process.stdout), _Kept(process.stderr), _Ended(process)
    try:
        stopped = _watch(ended, folder, bounds, cancel, started)
    except BaseException:
        _end(process.pid, mark, bounds.grace_s)
        process.wait()
        raise
    if stopped:
        _end(process.pid, mark, bounds.grace_s)
    code = process.wait()
    wall = ended.at() - started
    if not out.join(0.0 if stopped else GRACE_S) or not err.join(0.0 if stopped else GRACE_S):
        stopped = stopped or "it ended but left processes behind that hold its output"
    _end(process.pid, mark, bounds.grace_s)
    out.join(GRACE_S)
    err.join(GRACE_S)
    if stopped == _CANCELLED:
        raise CancelledError("the evaluation was interrupted")
    left_only = stopped.startswith("it ended but")
    return ProcessResult(
        code=code, out=out.text(), err=err.text(), wall_s=wall, stopped="" if left_only else stopped
    )


def spawn(
    command: Sequence[str],
    program: str,
    folder: Path,
    environment: Mapping[str, str],
    *,
    out: int = subprocess.PIPE,
    err: int = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own, without input.

    Args:
        command: Program and arguments.
        program: As the user named it.
        folder: Where it runs.
        environment: All of its environment.
        out: Where its output goes.
        err: Where its errors go.

    Raises:
        InputError: There is no such program, or it cannot be run.
    """
    try:
        return subprocess.Popen(
            list(command),
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
    except (OSError, ValueError) as fault:
        raise InputError(f"cannot run {program!r}: {getattr(fault, 'strerror', None) or fault}") from None


_CANCELLED = "cancelled"


def _watch(ended: _Ended, folder: Path, bounds: Bounds, cancel: threading.Event, started: float) -> str:
    """Wait for the end of a process, or for a reason to end it, which is returned."""
    before, looked = _free(folder), started
    while True:
        if ended.within(_TICK_S):
            return ""
        if cancel.is_set():
            return _CANCELLED
        now = time.monotonic()
        if now - started > bounds.timeout_s:
            return f"timeout: still running after {bounds.timeout_s:g} s"
        if now - looked > _LOOK_S:
            looked, free = now, _free(folder)
            if free < FREE_BYTES and free < before:
                return f"it filled the disk: {free >> 20} MiB are left"
            if before - free > bounds.disk_bytes:
                return f"it wrote more than {bounds.disk_bytes >> 20} MiB to the disk"


def _free(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 1 << 62


def _with_file_limit(command: Sequence[str], size: int) -> list[str]:
    """The command behind a shell that bounds its files (POSIX counts blocks of 512 bytes), if not less is."""
    shell = shutil.which("sh")
    if shell is None or shutil.which(command[0]) is None:  # what is missing is told by the attempt to run it
        return list(command)
    return [shell, "-c", f'ulimit -f {max(1, size // 512)} 2>&-; exec "$@"', "sh", *command]


class _Ended:
    """The exact end time of a process: ``Popen.wait`` with a timeout may look 20 ms late."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._at = 0.0
        self._process = process
        self._thread = threading.Thread(target=self._wait, daemon=True)
        self._thread.start()

    def _wait(self) -> None:
        self._process.wait()
        self._at = time.monotonic()

    def within(self, seconds: float) -> bool:
        """Wait for the end; whether it came."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def at(self) -> float:
        """The moment, once it has come."""
        self._thread.join()
        return self._at


class _Kept:
    """The beginning and the end of a stream, read in a thread so that the writer never waits."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        self._head, self._tail = bytearray(), bytearray()
        self._dropped = False
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream: IO[bytes] | None) -> None:
        if stream is None:
            return
        with stream:
            while chunk := os.read(stream.fileno(), 1 << 16):
                space = max(0, HEAD - len(self._head))
                self._head += chunk[:space]
                self._tail += chunk[space:]
                if len(self._tail) > 2 * TAIL:
                    del self._tail[:-TAIL]
                    self._dropped = True

    def join(self, seconds: float) -> bool:
        """Wait for the end of the stream; whether it came."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def text(self) -> str:
        """The kept output; a gap is marked."""
        gap = b"\n[...]\n" if self._dropped else b""
        return (bytes(self._head) + gap + bytes(self._tail)).decode(errors="replace")


def _end(pid: int, mark: str, grace_s: float) -> None:
    """End a process group: politely, then surely; then whatever else carries the mark."""
    if _signal_group(pid, signal.SIGTERM):
        until = time.monotonic() + grace_s
        while time.monotonic() < until and _group_lives(pid):
            time.sleep(_TICK_S)
        _signal_group(pid, signal.SIGKILL)
    kill_marked(mark)


def _signal_group(pid: int, number: int) -> bool:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _group_lives(pid: int) -> bool:
    """True if any process of the group is more than a zombie."""
    entries = list(Path("/proc").glob("[0-9]*/stat"))
    if not entries:
        return _signal_group(pid, 0)
    for entry in entries:
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if len(fields) > 2 and fields[0] != "Z" and fields[2] == str(pid):
            return True
    return False
