"""Disturbance of a probe: by others, by want of memory or disk, by slowed clocks, or a late client."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from recommender.measuring.device_memory import system_text, tool_output
from recommender.tune.load import LoadResult

MOST_SHARE = 0.1
"""Part of a probe that may be lost, and of the machine's processor time that others may take. In measurements
before this was written a neighbour with .2 to .4 took a third to two thirds of the throughput; below .05
repeats agreed to 4 %."""
LAG_SHARE = 0.05
"""The send lag that is allowed, as a part of the smallest limit; a choice."""
LAG_S = 0.2
"""The same without a limit; a choice."""
CLIENT_SHARE = 0.9
"""Part of one core from which the client itself is what is measured; a choice."""
TELLS = {
    "others": "other processes took {:.0%} of the processors",
    "memory": "for {:.0%} of the time everything waited for memory",
    "io": "for {:.0%} of the time everything waited for the disk",
    "heat": "heat or power slowed the clocks for {:.0%} of the time",
}
_PRESSURE = Path("/proc/pressure")
"""Pressure stall information (https://docs.kernel.org/accounting/psi.html). Its ``full`` is time in which
nothing ran that could have: a server under load stood still too. For processors ``others`` tells more."""
_FULL = re.compile(r"^full .*total=(\d+)", re.MULTILINE)
_THROTTLES = Path("/sys/devices/system/cpu")
_PACKAGE = "cpu*/thermal_throttle/package_throttle_total_time_ms"
_COUNTERS = ("hw_thermal_slowdown", "sw_thermal_slowdown", "hw_power_brake_slowdown")
_CLOCKS = (
    "nvidia-smi",
    "--query-gpu=" + ",".join(f"clocks_event_reasons_counters.{name}" for name in _COUNTERS),
    "--format=csv,noheader,nounits",
)
"""Microseconds of each device so far; drivers before 2025 do not tell, and nothing is claimed then."""


@dataclass(frozen=True, slots=True)
class MachineTime:
    """Times of a machine so far.

    Attributes:
        busy: Processor time that was not idle, in ticks.
        total: All of it.
        own: That of some processes with this one.
        at_s: When it was read.
        lost_s: Seconds lost to ``memory``, ``io`` and heat of each device, where the system tells.
    """

    busy: int
    total: int
    own: int
    at_s: float
    lost_s: Mapping[str, float]

    @classmethod
    def now(cls, pids: Iterable[int]) -> MachineTime | None:
        """Read it; None where the system does not tell (elsewhere than Linux)."""
        fields = [int(word) for word in system_text(Path("/proc/stat")).partition("\n")[0].split()[1:9]]
        if not fields:
            return None
        idle = fields[3] + fields[4]
        own = sum(map(_ticks, {*pids, os.getpid()}))
        return cls(sum(fields) - idle, sum(fields), own, time.monotonic(), _lost_s())

    def shares(self, before: MachineTime) -> dict[str, float]:
        """Part of the machine's time since ``before`` that was of others, and of the clock that was lost."""
        total, span_s = self.total - before.total, max(self.at_s - before.at_s, 1e-9)
        others = max(0.0, (self.busy - before.busy) - (self.own - before.own)) / total if total > 0 else 0.0
        lost = {
            name: (value - before.lost_s[name]) / span_s
            for name, value in self.lost_s.items()
            if name in before.lost_s
        }
        return {"others": others, **lost}


def _lost_s() -> dict[str, float]:
    found = {}
    for name in ("memory", "io"):
        if (told := _FULL.search(system_text(_PRESSURE / name))) is not None:
            found[name] = int(told[1]) / 1e6
    reasons = (map(int, re.findall(r"\d+", line)) for line in tool_output(_CLOCKS).splitlines())
    devices = [max(each, default=0) / 1e6 for each in reasons]  # they may hold at once
    packages = [int(system_text(path) or 0) / 1e3 for path in sorted(_THROTTLES.glob(_PACKAGE))]
    return found | {f"heat of {number}": value for number, value in enumerate([*devices, *packages])}


def _ticks(pid: int) -> int:
    """Time of a process and of its children that have ended."""
    fields = system_text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return sum(int(word) for word in fields[11:15])


def disturbance(result: LoadResult, parts: Mapping[str, float], smallest_limit_s: float | None) -> str:
    """The reason that a probe does not count, in words; empty if it does."""
    worst = max(parts, key=parts.__getitem__, default="")
    if worst and parts[worst] > MOST_SHARE:
        return TELLS[worst.split()[0]].format(parts[worst])
    allowed = LAG_S if smallest_limit_s is None else max(LAG_SHARE * smallest_limit_s, 0.002)
    if result.send_lag_s > allowed:
        return f"the client sent {1e3 * result.send_lag_s:.0f} ms late"
    if result.cpu_share > CLIENT_SHARE:
        return f"the client used {result.cpu_share:.0%} of a core"
    return ""
