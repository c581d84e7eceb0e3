"""Kill, damage and starve workspaces, and count what goes wrong without a word.

A small workspace with cases, knowledge, versions, an import, an A/B test and a calibration is treated badly:
commands that write are killed with signal 9 at random moments; files are flipped and cut; parts are replaced by
older copies; the first lines of an export are imported; files cannot grow or may not be written; the disk is
full; each call that writes fails from one on, as on a disk that is full or may only be read; clocks jump.
After each, readers, the next writer and doctor say what they see; ``crowd`` has many processes at once.

    python -m tests.endurance.chaos [--kills 1000] [--flips 500] [--prefixes 200] [--quick] [--seed 1]

The failing writes need Linux and a C compiler (cc).

Prints a line for whatever is wrong; the last line is JSON: silent (damage that nobody tells, and workspaces that
are neither as before nor as after), rows_lost, tracebacks, share_told (of damage outside free space), and the
counts of each part.
"""

import sys
import tempfile
import time
from collections import Counter
from dataclasses import fields
from functools import partial
from pathlib import Path
from random import Random

from benchmarks import harness
from benchmarks.protocols.processes import children_import_from_here
from tests.endurance.disorder import places
from tests.endurance.disorder.children import run
from tests.endurance.disorder.conditions import clock_jumps, full_disk, no_permission, no_room
from tests.endurance.disorder.damage import flip_often, import_prefixes, restore_parts
from tests.endurance.disorder.kills import kill_often
from tests.endurance.disorder.writes import failing_writes

LONG: dict[str, float] = {
    "kills": 1000,
    "flips": 500,
    "prefixes": 200,
    "parts": 60,
    "tight": 100,
    "full": 100,
    "writes": 220,
}
QUICK: dict[str, float] = {
    "kills": 20,
    "flips": 20,
    "prefixes": 8,
    "parts": 6,
    "tight": 9,
    "full": 9,
    "writes": 11,
}


def measure(place: Path, amounts: dict[str, float], seed: int) -> dict[str, object]:
    """Do all of it in a folder; return the figures.

    Args:
        place: An empty folder.
        amounts: How much of each, as :data:`LONG`.
        seed: Of the random choices.
    """
    children_import_from_here()
    rng = Random(seed)
    say = partial(print, file=sys.stderr, flush=True)
    place.chmod(0o755)  # a child that steps down from root has to get in
    made = run(_make, place)
    if made.error:
        raise RuntimeError(made.error)
    started = time.monotonic()
    parts: dict[str, object] = {}

    def timed(name: str, part: object) -> None:
        nonlocal started
        parts[name] = part
        say(f"{name}: {part} in {time.monotonic() - started:.0f} s")
        started = time.monotonic()

    timed("kills", kills := kill_often(place, int(amounts["kills"]), rng, say))
    timed("flips", flips := flip_often(place, int(amounts["flips"]), rng, say))
    timed("prefixes", prefixes := import_prefixes(place, int(amounts["prefixes"]), rng, say))
    timed("parts", older := restore_parts(place, int(amounts["parts"]), rng, say))
    timed("no_room", tight := no_room(place, int(amounts["tight"]), rng, say))
    timed("full_disk", full := full_disk(place, int(amounts["full"]), rng, say))
    timed("writes", writes := failing_writes(place, int(amounts["writes"]), rng, say))
    timed("no_permission", still := no_permission(place, say))
    timed("clocks", clocks := clock_jumps(place, say))
    damages = (flips, prefixes, older)
    conditions = [item for item in (tight, full, still, clocks) if item is not None]
    stopped = (kills, writes)
    tracebacks = [x.tracebacks for x in damages] + [x.tracebacks for x in conditions] + [writes.tracebacks]
    return {
        "silent": sum(x.torn + x.unlike for x in stopped)
        + sum(x.silent for x in damages)
        + sum(x.torn for x in conditions),
        "rows_lost": sum(x.rows_lost for x in stopped),
        "broken": sum(x.broken for x in stopped),
        "tracebacks": sum(tracebacks),
        "share_told": flips.share_told,
        **{name: _plain(part) for name, part in parts.items()},
    }


def _plain(part: object) -> dict[str, object] | None:
    """The figures of a part, counters as what they count; None of one that could not be done."""
    if part is None:
        return None
    found = {item.name: getattr(part, item.name) for item in fields(part)}  # type: ignore[arg-type]  # a dataclass
    return {name: dict(value) if isinstance(value, Counter) else value for name, value in found.items()}


def _make(_: object, place: Path) -> None:
    places.make(place)


def main() -> None:
    """Run and print."""
    amounts_of = [harness.option(f"--{name.replace('_', '-')}", type=float) for name in LONG]
    given = harness.read(__doc__, *amounts_of, quick="a few of each, in less than two minutes", published=1)
    amounts = dict(QUICK if given.quick else LONG)
    amounts |= {name: value for name in LONG if (value := getattr(given, name)) is not None}
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        started = time.monotonic()
        figures = measure(Path(folder), amounts, given.seed)
        given.last_line({**figures, "duration_s": round(time.monotonic() - started, 1)})


if __name__ == "__main__":
    main()
