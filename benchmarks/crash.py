"""Kill a writer with signal 9 at random moments and look at what is left.

A child process ingests real cases in small batches and says on its standard output which batch was
acknowledged, and with how many rows. The parent kills it at a random moment, opens the workspace as the
next writer would, and asks: is everything acknowledged there, is every problem whole, do readers answer,
does the index heal. Then the child goes on with the next file.

    python benchmarks/crash.py --known ../shared/data/cases [--kills 100] [--quick]

Prints a line a kill; the last line is JSON: kills, batches_acknowledged, rows_acknowledged, rows_lost,
torn_problems, broken_opens, index_faults, kills_with_work_unacknowledged.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS_A_FILE = 3000
BATCH_ROWS = 40
LONGEST_LIFE_S = 1.5
"""A child lives up to so long after its first sign of life, so kills fall on every stage of its work."""


def rows_of(known: Path) -> itertools.cycle[str]:
    """Lines of the cases, corpora mixed, for ever; later rounds repeat what is known already."""
    lines: list[str] = []
    for path in sorted(known.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            lines += itertools.islice(stream, 30_000)
    random.Random(11).shuffle(lines)
    return itertools.cycle(lines)


def child(workspace: Path, cache: Path, file: Path) -> None:
    """Ingest a file in small batches, saying what is acknowledged; never returns alive if it is killed."""
    from recommender.workspace import Workspace

    with Workspace.open(workspace, cache=cache) as opened:
        editor = opened.edit(command="crash benchmark")
    print("alive", flush=True)
    with editor:
        editor.ingest(
            [file],
            on_batch=lambda added: print(f"acknowledged {added.rows}", flush=True),
            batch_rows=BATCH_ROWS,
        )
    print("done", flush=True)


def run_and_kill(workspace: Path, cache: Path, file: Path, rng: random.Random) -> tuple[int, int, bool]:
    """Start a child and kill it; batches and rows it said were acknowledged, and whether it ended first."""
    command = [sys.executable, __file__, "--child", str(workspace), str(cache), str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    said = [process.stdout.readline()]
    time.sleep(rng.uniform(0, LONGEST_LIFE_S))
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    said += process.stdout.read().splitlines()
    process.wait()
    rows = [int(line.split()[1]) for line in said if line.startswith("acknowledged ") and line[-1].isdigit()]
    return sum(1 for number in rows if number), sum(rows), "done" in said


def inspect(workspace: Path, cache: Path) -> tuple[int, list[str]]:
    """Rows that a reader sees after the next writer opened, and everything that is wrong."""
    from recommender.workspace import Workspace

    with Workspace.open(workspace, cache=cache) as before:
        editor = before.edit(command="crash benchmark")
    with editor:
        pass
    with Workspace.open(workspace, cache=cache) as after:
        faults = [f"{found.about}: {found.says}" for found in after.check() if found.severity == "fault"]
        return after.trials.counts().trials, faults


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--known", type=Path, help="folder of case JSONL files")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="10 kills")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--child", nargs=3, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return
    if options.known is None:
        parser.error("--known FOLDER: which cases?")
    print(json.dumps(measure(options.known, 10 if options.quick else options.kills, options.seed)))


def measure(known: Path, kills: int, seed: int) -> dict[str, int]:
    """Kill ``kills`` children over one growing workspace."""
    from recommender.workspace import Workspace

    rng = random.Random(seed)
    lines = rows_of(known)
    figures = dict.fromkeys(
        (
            "kills",
            "batches_acknowledged",
            "rows_acknowledged",
            "rows_lost",
            "torn_problems",
            "broken_opens",
            "index_faults",
            "kills_with_work_unacknowledged",
        ),
        0,
    )
    with tempfile.TemporaryDirectory(prefix="tunegraph-crash-") as place:
        folder = Path(place)
        workspace, cache = folder / "workspace", folder / "cache"
        Workspace.create(workspace, cache=cache, text_model=None, with_shipped=False)
        seen = 0
        for number in range(kills):
            file = folder / f"cases-{number}.jsonl"
            file.write_text("".join(itertools.islice(lines, ROWS_A_FILE)), encoding="utf-8")
            batches, rows, finished = run_and_kill(workspace, cache, file, rng)
            file.unlink()
            figures["kills"] += 1
            figures["batches_acknowledged"] += batches
            figures["rows_acknowledged"] += rows
            try:
                there, faults = inspect(workspace, cache)
            except Exception as error:  # noqa: BLE001  any failure to open is what is being counted
                figures["broken_opens"] += 1
                print(f"kill {number + 1}: cannot be opened: {error!r}")
                continue
            figures["rows_lost"] += max(0, seen + rows - there)
            figures["torn_problems"] += sum("index" not in fault for fault in faults)
            figures["index_faults"] += sum("index" in fault for fault in faults)
            figures["kills_with_work_unacknowledged"] += there > seen + rows
            print(
                f"kill {number + 1}: {batches} batches, {rows} rows acknowledged, {there - seen} found"
                + (", ended before the kill" if finished else "")
                + (f"; {faults}" if faults else ""),
                flush=True,
            )
            seen = there
    return figures


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    main()
