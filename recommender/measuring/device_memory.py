"""Memory of devices, of the machine and shared: free again after a start, or who holds it is told."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from kg.errors import WorkspaceError

ANSWER_S = 20.0
"""For a tool of a vendor or a runtime of containers to answer; a choice."""
_LONGEST_S = 60.0
"""For memory to come back after a stop: drivers take seconds to take down what was killed. A choice."""
_SPARE = 0.02
"""Part of a device's memory that may be held more than before; a choice above what a driver itself takes."""
_TICK_S = 0.5
_SHARED = Path("/dev/shm")  # noqa: S108  looked at, not written
_HBM = re.compile(r"(?<!\d)(\d++)\s*+/\s*+(\d++)[^\S\n]*+\|?[^\S\n]*+$", re.MULTILINE)
_TOOLS = {
    "nvidia-smi": ("nvidia-smi", "--query-gpu=memory.used,memory.total", "--format=csv,noheader,nounits"),
    "npu-smi": ("npu-smi", "info"),
}
_HOLDERS = ("nvidia-smi", "--query-compute-apps=pid,name,used_memory", "--format=csv,noheader")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldMemory:
    """Memory that is held, by device, and of the shared memory.

    Attributes:
        used: Held and whole, of each device, in MiB, or as the tool counts.
        tool: What tells the devices; empty for none.
        shared: Held and whole, of the shared memory, in bytes.
    """

    used: tuple[tuple[int, int], ...]
    tool: str
    shared: tuple[int, int]

    @classmethod
    def now(cls) -> HeldMemory:
        """Read it from the tool of the vendor, where there is one."""
        tool = next((name for name in _TOOLS if shutil.which(name)), "")
        text = tool_output(_TOOLS[tool]).replace(",", "/") if tool else ""
        used = tuple((int(held), int(whole)) for held, whole in _HBM.findall(text) if int(whole))
        disk = shutil.disk_usage(_SHARED) if _SHARED.is_dir() else None
        return cls(used=used, tool=tool, shared=(0, 0) if disk is None else (disk.used, disk.total))

    def wait_free(self, cancel: Event, longest_s: float = _LONGEST_S) -> None:
        """Wait until no more is held than here.

        Raises:
            WorkspaceError: More is, for so long.
        """
        until = time.monotonic() + longest_s
        while told := self._beyond(HeldMemory.now()):
            if time.monotonic() > until or cancel.wait(_TICK_S):
                break
        if told and not cancel.is_set():
            raise WorkspaceError(
                f"{told} after its server was ended", hint="end what holds it, then --resume"
            )

    def _beyond(self, now: HeldMemory) -> str:
        """Memory held beyond this state, and by whom; empty for none."""
        for number, (before, (held, whole)) in enumerate(zip(self.used, now.used, strict=False)):
            if held - before[0] > _SPARE * whole:
                holders = tool_output(_HOLDERS).strip() if self.tool == "nvidia-smi" else ""
                by = f", by {'; '.join(holders.splitlines())}" if holders else f"; {self.tool} tells by whom"
                return f"device {number} still holds {held - before[0]} MiB more than before{by}"
        if now.shared[0] - self.shared[0] > _SPARE * now.shared[1]:
            names = ", ".join(map(str, sorted(_SHARED.iterdir(), key=_changed, reverse=True)[:3]))
            more = (now.shared[0] - self.shared[0]) / 2**20
            return f"{_SHARED} still holds {more:.0f} MiB more than before (newest: {names})"
        return ""


def free_host(root: Path = Path("/")) -> tuple[int, int]:
    """Memory of the machine, or of the container that this runs in: free and whole; zeros if untold."""
    told = dict(re.findall(r"(?m)^(\w++):\s++(\d++) kB", system_text(root / "proc/meminfo")))
    free, whole = (int(told.get(name, 0)) << 10 for name in ("MemAvailable", "MemTotal"))
    group = root / "sys/fs/cgroup"
    most, used = (system_text(group / f"memory.{name}").strip() for name in ("max", "current"))
    if most.isdigit() and used.isdigit() and int(most) < whole:
        cached = re.search(r"^inactive_file (\d+)", system_text(group / "memory.stat"), re.MULTILINE)
        free = min(free, int(most) - int(used) + (int(cached[1]) if cached else 0))
        whole = int(most)
    return free, whole


def held_host(pids: Iterable[int]) -> int:
    """Memory that would be free without some processes, in bytes; what they share counts once."""
    rollups = [system_text(Path(f"/proc/{pid}/smaps_rollup")) for pid in pids]
    return sum(int(kib) << 10 for text in rollups for kib in re.findall(r"^Pss:\s+(\d+)", text, re.MULTILINE))


def system_text(path: Path) -> str:
    """The text of a system file; empty where there is none, or it cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""


def _changed(path: Path) -> float:
    """The time at which a file was changed; 0 where it is gone by now."""
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def tool_output(command: tuple[str, ...], longest_s: float = ANSWER_S) -> str:
    """Run a tool; what it prints, empty where it is absent, fails or does not end."""
    if shutil.which(command[0]) is None:  # no process is made to find that out: it is asked at each probe
        return ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=longest_s, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
