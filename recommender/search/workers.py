"""Who evaluates a trial, and whether that process is still there."""

from __future__ import annotations

import os
import socket
import uuid
from pathlib import Path

from kg.values import digest

MANUAL = "manual"
"""Owner of a trial that a person asked for and will tell."""
MARGIN_S = 60.0
"""Beyond the time an evaluation may take, before its worker on another machine counts as gone; a choice."""


def worker() -> str:
    """Who evaluates here: machine (as a digest), process, and when it started."""
    return f"{_machine()}:{os.getpid()}:{_birth(os.getpid())}"


def pid_here(owner: str) -> int | None:
    """The process of a worker on this machine; None for one elsewhere or none at all."""
    machine, _, rest = owner.partition(":")
    pid = rest.partition(":")[0]
    return int(pid) if machine == _machine() and pid.isdigit() else None


def is_gone(owner: str, until: float | None, now: float) -> bool:
    """Whether a worker is known to be gone, or must be.

    Args:
        owner: What ``worker`` told of it.
        until: Unix time by which its evaluation must have ended; None for never.
        now: Unix time.
    """
    machine, _, rest = owner.partition(":")
    pid, _, birth = rest.partition(":")
    if machine == _machine() and pid.isdigit():
        return _birth(int(pid)) != birth
    return until is not None and now > until + MARGIN_S


def _machine() -> str:
    return digest("machine", socket.gethostname(), uuid.getnode())[:12]


def _birth(pid: int) -> str:
    """Start of a process in ticks (Linux), so that a reused number is another; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        return "alive"
    return "alive"
