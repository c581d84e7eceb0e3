"""Disturbance of a probe: time of the processors that others took, and a client that was late itself."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from recommender.tune.load import LoadResult

FOREIGN_SHARE = 0.1
"""Part of the machine's processor time that others may take. In measurements before this was written a
neighbour with .2 to .4 took a third to two thirds of the throughput; below .05 repeats agreed to 4 %."""
LAG_SHARE = 0.05
"""The send lag that is allowed, as a part of the smallest limit; a choice."""
LAG_S = 0.2
"""The same without a limit; a choice."""
CLIENT_SHARE = 0.9
"""Part of one core from which the client itself is what is measured; a choice."""


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """Processor time so far, in ticks: of all, and of some processes with this one.

    Attributes:
        busy: All that was not idle.
        total: All.
        own: That of the processes.
    """

    busy: int
    total: int
    own: int

    @classmethod
    def now(cls, pids: Iterable[int]) -> ProcessorTime | None:
        """Read it; None where the system does not tell (elsewhere than Linux)."""
        try:
            fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        except (OSError, ValueError):
            return None
        idle = fields[3] + fields[4]
        return cls(sum(fields) - idle, sum(fields), sum(map(_ticks, {*pids, os.getpid()})))

    def foreign_share(self, before: ProcessorTime) -> float:
        """Part of the machine's time since ``before`` that neither idled nor was of the processes."""
        total = self.total - before.total
        return max(0.0, (self.busy - before.busy) - (self.own - before.own)) / total if total > 0 else 0.0


def _ticks(pid: int) -> int:
    """Time of a process and of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(int(word) for word in fields[11:15])


def disturbance(result: LoadResult, foreign: float, smallest_limit_s: float | None) -> str:
    """Why a probe does not count, in words; empty if it does."""
    if foreign > FOREIGN_SHARE:
        return f"other processes took {foreign:.0%} of the processors"
    allowed = LAG_S if smallest_limit_s is None else max(LAG_SHARE * smallest_limit_s, 0.002)
    if result.send_lag_s > allowed:
        return f"the client sent {1e3 * result.send_lag_s:.0f} ms late"
    if result.cpu_share > CLIENT_SHARE:
        return f"the client used {result.cpu_share:.0%} of a core"
    return ""
