"""Workers: the identity of the process that evaluates a trial, and signs that it lives.

On this machine the process is looked for. Elsewhere a worker shows that it lives by writing a beat again and
again; whoever sees the same beat for long enough takes it for gone. Only the looker's own clock counts, so
clocks that differ between machines do no harm, and neither does a storage that is away for a while.
"""

import os
import socket
from collections.abc import Hashable, Mapping
from contextlib import suppress
from pathlib import Path

from kg.nouns.values import digest

MANUAL = "manual"
"""Owner of a trial that a person asked for and will tell."""
MARGIN_S = 60.0
"""Beyond the time an evaluation may take, before its worker on another machine counts as gone; a choice."""
BEAT_S = 5.0
"""Interval of a worker's signs of life, where others may be on other machines; a choice."""
MISSED = 6
"""Beats that fail to come before a worker counts as gone; a choice: longer than a stall of the network or of
the garbage collector, shorter than most evaluations."""


def worker() -> str:
    """Identity of this process as a worker: machine (as a digest), process, and when it started."""
    return f"{_machine()}:{os.getpid()}:{_birth(os.getpid())}"


def pid_here(owner: str) -> int | None:
    """The process of a worker on this machine; None for one elsewhere or none at all."""
    machine, _, rest = owner.partition(":")
    pid = rest.partition(":")[0]
    return int(pid) if machine == _machine() and pid.isdigit() else None


def gone_here(owner: str) -> bool | None:
    """True where a worker of this machine is gone; None for one elsewhere, whose process is unknown."""
    machine, _, rest = owner.partition(":")
    pid, _, birth = rest.partition(":")
    if machine != _machine() or not pid.isdigit():
        return None
    return _birth(int(pid)) != birth.partition(":")[0]


def is_gone(owner: str, until: float | None, now: float) -> bool:
    """True where a worker that shows no beats is known to be gone, or must be.

    Args:
        owner: As ``worker`` identifies it.
        until: Unix time by which its evaluation must have ended; None for never.
        now: Unix time.
    """
    here = gone_here(owner)
    if here is not None:
        return here
    return until is not None and now > until + MARGIN_S


class Watch:
    """Watches the beats of workers, and finds those that have stopped.

    Args:
        beat_s: How often they should come.
    """

    def __init__(self, beat_s: float = BEAT_S) -> None:
        self._silence_s = MISSED * beat_s
        self._looked = 0.0
        self._seen: dict[int, tuple[Hashable, float]] = {}

    def look(self, beats: Mapping[int, Hashable], now: float) -> set[int]:
        """Take in the beats by trial; the trials whose beat has been the same for too long.

        Args:
            beats: The last one of each trial that is being evaluated.
            now: Seconds of a clock of this process.
        """
        if now - self._looked > self._silence_s / 2:
            self._seen.clear()  # we could not look, so perhaps they could not write
        self._looked = now
        self._seen = {
            trial: (beat, self._seen[trial][1] if self._seen.get(trial, (None,))[0] == beat else now)
            for trial, beat in beats.items()
        }
        return {trial for trial, (_, since) in self._seen.items() if now - since > self._silence_s}


_PROCESSES = Path("/proc")
"""Where Linux tells of processes; elsewhere it is not there, and a number is known to be in use or not."""


def _machine() -> str:
    """This machine, as a digest; containers that share its name but not its processes are others."""
    told = [socket.gethostname()]
    with suppress(OSError):
        told.append(Path("/etc/machine-id").read_text())
    with suppress(OSError):
        told.append(str((_PROCESSES / "self/ns/pid").readlink()))
    return digest("machine", *told)[:12]


def _birth(pid: int) -> str:
    """Start of a process in ticks (Linux), so that a reused number is another; empty if there is none."""
    try:
        state, *fields = (_PROCESSES / f"{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if state in {"Z", "X"} else fields[18]  # who has ended and was not yet waited for is gone
    except (OSError, ValueError, IndexError):
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        return "alive"
    return "alive"
