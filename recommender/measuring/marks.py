"""Marks in the environment of what was started here, by which it is found again and nothing else is."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

MARK = "TUNEGRAPH_EVALUATION"
"""Variable in the environment of a command and of all that it starts."""
_NUMBERS = count()
_TICK_S = 0.05
_GONE_S = 10.0
"""For the system to take down what was killed, which takes a while where it held much memory; a choice."""


def new_mark(mark: str) -> str:
    """The mark of one run among those of a mark: with this process and a number of its own."""
    return f"{mark}/{os.getpid()}/{next(_NUMBERS)}"


def marked(mark: str) -> Iterator[int]:
    """Every process of ours whose environment carries the mark, but for this one.

    Args:
        mark: That of many runs, followed by ``/`` and the process that started them, or by its number too.
    """
    wanted = f"{MARK}={mark}/".encode()
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        pid = int(entry.parent.name)
        if pid != os.getpid() and any((item + b"/").startswith(wanted) for item in variables):
            yield pid


def kill_marked(mark: str, number: int = signal.SIGKILL) -> int:
    """Send a signal to every marked process; how many there were."""
    found = 0
    for pid in marked(mark):
        try:
            os.kill(pid, number)
        except OSError:
            continue
        found += 1
    return found


def end_marked(mark: str, grace_s: float) -> int:
    """Ask every marked process to end, wait, and kill what is left; how many were killed."""
    if kill_marked(mark, signal.SIGTERM):
        _wait_gone(mark, grace_s)
    killed = kill_marked(mark)
    if killed:
        _wait_gone(mark, _GONE_S)
    return killed


def _wait_gone(mark: str, longest_s: float) -> None:
    until = time.monotonic() + longest_s
    while time.monotonic() < until and any(True for _ in marked(mark)):
        time.sleep(_TICK_S)
