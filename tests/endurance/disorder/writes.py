"""Commands on a disk that is full, or may only be read, from one of their writes on.

A library that stands before the system's (``tests/power/full_disk.c``) counts the calls of a command that change
something, and lets those from a given one on fail, whoever makes them: Python, SQLite or the graph's database.
"""

import ctypes
import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from random import Random

from tests.endurance.disorder.acts import ACTS, act, look
from tests.endurance.disorder.children import run
from tests.endurance.disorder.conditions import clear
from tests.endurance.disorder.kills import KillFigures, Reference, fresh, judge, undisturbed

SOURCE = Path(__file__).resolve().parents[2] / "power" / "full_disk.c"
ERRORS = (errno.ENOSPC, errno.EROFS)


@dataclass(slots=True)
class WriteFigures(KillFigures):
    """The outcome of disks that fail.

    Attributes:
        done: Commands.
        refused: Those that said in words why they could not.
        tracebacks: Those that ended in a traceback or died.
        writes: Calls of each command that change something.
    """

    done: int = 0
    refused: int = 0
    tracebacks: int = 0
    writes: dict[str, int] = field(default_factory=dict)


def failing_writes(
    place: Path, number: int, rng: Random, say: Callable[[str], None], acts: tuple[str, ...] = ACTS
) -> WriteFigures:
    """Let the disk fail at writes of commands in turn, spread over each command's own.

    Args:
        place: What ``places.make`` has filled.
        number: How many times.
        rng: Chooses the writes.
        say: Gets a line for whatever is wrong.
        acts: Commands.
    """
    library = build_library(place)
    words = [sys.executable, "-m", __name__, str(place), str(number), str(rng.randrange(10**6)), *acts]
    environment = {**os.environ, "LD_PRELOAD": str(library)}  # for the children of a process of its own
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    *lines, last = done.stdout.splitlines()
    for line in lines:
        say(line)
    return WriteFigures(**json.loads(last))


def build_library(place: Path) -> Path:
    """The library in a folder: for Linux, by the C compiler."""
    built = place / "full_disk.so"
    building = ["cc", "-shared", "-fPIC", "-O1", "-o", str(built), str(SOURCE), "-ldl"]
    subprocess.run(building, check=True)
    return built


def main() -> None:
    """Do it in a process whose children have the library; print the figures."""
    folder, number, seed, *acts = sys.argv[1:]
    place, rng = Path(folder), Random(int(seed))
    path, figures = place / "work", WriteFigures()
    references = {name: undisturbed(place, name) for name in acts}
    for name in acts:
        fresh(place, name, path)
        figures.writes[name] = int(run(_on_disk, 0, 0, name, place, path).value)
    each = max(1, int(number) // (len(acts) * len(ERRORS)))
    for turn in range(int(number)):
        name, step = acts[turn % len(acts)], turn // len(acts)
        error = ERRORS[step % len(ERRORS)]
        share = (step // len(ERRORS) % each + rng.random()) / each
        _try(figures, place, name, references[name], 1 + int(share * figures.writes[name]), error)
    clear(path)
    print(json.dumps({item.name: getattr(figures, item.name) for item in fields(figures)}))


def _try(figures: WriteFigures, place: Path, name: str, reference: Reference, at: int, error: int) -> None:
    """Do a command on a disk that fails from a write on, count what is wrong, and print it."""
    path = place / "work"
    fresh(place, name, path)
    ended = run(_on_disk, at, error, name, place, path)
    what = f"{name}, {errno.errorcode[error]} from write {at} of {figures.writes[name]}"
    figures.done += 1
    figures.by_act[name] += 1
    if ended.error and ended.is_explained:
        figures.refused += 1
    elif ended.error or ended.was_killed:
        figures.tracebacks += 1
        print(f"{what}: {ended.error or 'died'}")
    elif (seen := run(look, path)).value is None or seen.value["then"] != reference.after:
        figures.torn += 1
        print(f"{what}: it ended well, and is not done")
    for fault in judge(figures, place, path, name, reference, ended.told):
        print(f"{what}: {fault}; it had ended with {ended.error or 'success'}")


def _on_disk(
    tell: Callable[[object], None], at: int, error: int, name: str, place: Path, path: Path
) -> object:
    """Do a command on a disk that fails from a write on; the number of its writes."""
    disk = ctypes.CDLL(None)
    disk.disk_fails.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int]
    disk.disk_fails.restype = ctypes.c_long
    disk.disk_fails(os.fsencode(place), at, error)
    try:
        act(tell, name, place, path)
    finally:
        made = disk.disk_fails(b"", 0, 0)
    return made


if __name__ == "__main__":
    main()
