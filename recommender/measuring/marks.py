"""Marks in the environment of what was started here, by which it is found again and nothing else is."""

import os
import signal
import time
from collections.abc import Iterator
from itertools import count

MARK = "TUNEGRAPH_EVALUATION"
"""Variable in the environment of a command and of all that it starts."""
_NUMBERS = count()
_PROCESSES = "/proc"
_TICK_S = 0.05
_FIRST_TICK_S = 0.005
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
    wanted, own = f"{MARK}={mark}/".encode(), str(os.getpid())
    for name in os.listdir(_PROCESSES) if os.path.isdir(_PROCESSES) else ():  # noqa: PTH208, PTH112  asked often
        if name.isdigit() and name != own and _carries(name, wanted):
            yield int(name)


def _carries(pid: str, wanted: bytes) -> bool:
    try:
        with open(f"{_PROCESSES}/{pid}/environ", "rb") as stream:  # noqa: PTH123  asked often
            content = stream.read()
    except OSError:
        return False
    return wanted[:-1] in content and any((item + b"/").startswith(wanted) for item in content.split(b"\0"))


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
    until, tick = time.monotonic() + longest_s, _FIRST_TICK_S
    while time.monotonic() < until and any(True for _ in marked(mark)):
        time.sleep(tick)
        tick = min(_TICK_S, 1.5 * tick)
