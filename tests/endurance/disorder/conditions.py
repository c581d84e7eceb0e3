"""Commands without room or without permission to write, with clocks that jump, and beside many readers."""

import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from tests.endurance.disorder.acts import ACTS, ONE_STEP, act, look
from tests.endurance.disorder.children import run
from tests.endurance.disorder.places import cases, content, editor, faults

Say = Callable[[str], None]

NOBODY = 65534
"""User id without rights, to which root steps down: a read-only folder does not hold root back."""
DISK_BYTES = 256 << 20
CLOCKS = (
    datetime(1971, 1, 1, tzinfo=UTC),
    datetime(2262, 1, 1, tzinfo=UTC),
    datetime(2026, 1, 1, tzinfo=UTC),
)
RECURRING = tuple(name for name in ACTS if name != "search")


@dataclass(slots=True)
class ConditionFigures:
    """The outcome of conditions.

    Attributes:
        done: Commands.
        refused: Those that said in words why they could not.
        tracebacks: Those that ended in a traceback or died.
        torn: Workspaces that were not as they may be.
    """

    done: int = 0
    refused: int = 0
    tracebacks: int = 0
    torn: int = 0


def no_room(place: Path, number: int, rng: Random, say: Say) -> ConditionFigures:
    """Let commands run out of room at random sizes of a file."""
    figures, path = ConditionFigures(), place / "tight"
    for turn in range(number):
        name = RECURRING[turn % len(RECURRING)]
        _copy(place, name, path)
        limit = round(2 ** rng.uniform(9, 21))
        done = run(_limited, limit, name, place, path)
        _judge(figures, done, place, name, path, f"{name} with files up to {limit} bytes", say)
    clear(path)
    return figures


def full_disk(place: Path, number: int, rng: Random, say: Say) -> ConditionFigures | None:
    """Let commands fill the disk that a workspace is on, at random writes; None where none can be mounted."""
    figures, disk = ConditionFigures(), place / "disk"
    path, filler = disk / "work", disk / "filler"
    disk.mkdir(exist_ok=True)
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(disk)]
    if subprocess.run(mounting, capture_output=True, check=False).returncode:
        return None
    try:
        for turn in range(number):
            name = RECURRING[turn % len(RECURRING)]
            _copy(place, name, path)
            room = round(2 ** rng.uniform(9, 22))
            with filler.open("wb") as stream:
                os.posix_fallocate(stream.fileno(), 0, shutil.disk_usage(disk).free - room)
            done = run(act, name, place, path)
            filler.unlink()
            _judge(figures, done, place, name, path, f"{name} with {room} bytes left", say)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    return figures


def no_permission(place: Path, say: Say) -> ConditionFigures:
    """Run every command on a workspace that may only be read."""
    figures, path = ConditionFigures(), place / "still"
    for name in RECURRING:
        _copy(place, name, path)
        _allow(path, writing=False)
        done = run(_without_rights, name, place, path)
        read = run(_read_without_rights, path)
        if read.error or read.value is None:
            figures.torn += 1
            say(f"{name}, read only: readers cannot read: {read.error}")
        _allow(path, writing=True)
        _judge(figures, done, place, name, path, f"{name}, read only", say)
    clear(path)
    return figures


def clock_jumps(place: Path, say: Say) -> ConditionFigures:
    """Take steps with clocks that go back and far ahead."""
    figures, path = ConditionFigures(), place / "clocks"
    _copy(place, "evolve", path)
    done = run(_steps, place, path)
    figures.done = len(CLOCKS)
    if done.error:
        figures.tracebacks += not done.is_explained
        figures.torn += 1
        say(f"clocks: {done.error}")
    elif done.value["faults"] or done.value["names"] != done.value["expected"]:
        figures.torn += 1
        say(f"clocks: {done.value}")
    clear(path)
    return figures


def _judge(
    figures: ConditionFigures, done: object, place: Path, name: str, path: Path, what: str, say: Say
) -> None:
    error, is_explained = getattr(done, "error", ""), getattr(done, "is_explained", False)
    figures.done += 1
    if error and is_explained:
        figures.refused += 1
    elif error or getattr(done, "was_killed", False):
        figures.tracebacks += 1
        say(f"{what}: {error or 'died'}")
    if not _judge_whole(figures, path, what, say) or name in ONE_STEP:
        return
    again = run(act, name, place, path)
    if again.error:
        figures.torn += 1
        say(f"{what}: with room again {again.error}")


def _judge_whole(figures: ConditionFigures, path: Path, what: str, say: Say) -> bool:
    seen = run(look, path)
    if seen.value is None or seen.value["faults"]:
        figures.torn += 1
        say(f"{what}: then {seen.error or seen.value['faults']}")
        return False
    return True


def _limited(tell: Callable[[object], None], limit: int, name: str, place: Path, path: Path) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    act(tell, name, place, path)


def _without_rights(tell: Callable[[object], None], name: str, place: Path, path: Path) -> None:
    warm = place / "warm"  # what is imported late may lie where only root may read
    _copy(place, name, warm)
    act(tell, name, place, warm)
    clear(warm)
    _step_down()
    act(tell, name, place, path)


def _read_without_rights(_: Callable[[object], None], path: Path) -> object:
    content(path)
    _step_down()
    return content(path)["rows"]


def _step_down() -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def _allow(path: Path, *, writing: bool) -> None:
    folder, file = (0o755, 0o644) if writing else (0o555, 0o444)
    for item in (path, *path.rglob("*")):
        item.chmod(folder if item.is_dir() else file)


def _steps(_: Callable[[object], None], place: Path, path: Path) -> dict[str, object]:
    from tests.endurance.disorder.places import reader

    for number, clock in enumerate(CLOCKS):
        (place / "clock.jsonl").write_text(cases(400 + 10 * number, 4))
        with editor(path, clock) as writing:
            writing.ingest([place / "clock.jsonl"])
            writing.evolve(clock)
    with reader(path) as workspace:
        names = [item.name for item in workspace.knowledge.lineage.versions()]
    return {"names": names, "expected": [f"v{n}" for n in range(2 + len(CLOCKS))], "faults": faults(path)}


def _copy(place: Path, name: str, path: Path) -> None:
    clear(path)
    shutil.copytree(place / ("grown" if name == "restore" else "base"), path)


def clear(path: Path) -> None:
    """Remove a workspace, its search log, and what restores left beside it."""
    for item in path.parent.iterdir():
        if item.name == path.name or item.name.startswith((f"{path.name}.", f".{path.name}-", ".backup-")):
            shutil.rmtree(item) if item.is_dir() else item.unlink()
