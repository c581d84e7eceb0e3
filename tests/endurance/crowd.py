"""Writers and readers of several processes on one workspace, for minutes: nobody is refused for good or sees half.

Writers take turns: one that finds another writing waits and tries again. Each takes in cases of its own, in
small batches, and counts the rows that were acknowledged. Readers read all there is again and again: rows never
become fewer, and every problem has rows and a vector. At the end the rows are those that were acknowledged.

    python -m tests.endurance.crowd [--seconds 600] [--writers 3] [--readers 5] [--quick]

The last line is JSON: reads, turns (of writers), waits (turns that found another writing), rows_acknowledged,
rows_lost, wrong (whatever a process met that it should not), faults (of doctor at the end).
"""

import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from benchmarks import harness
from benchmarks.protocols.processes import children_import_from_here
from recommender.workspace.workspace import Workspace
from tests.endurance.disorder.children import context
from tests.endurance.disorder.places import cases, faults, reader

CASES_A_TURN = 40
BATCH_ROWS = 10


def write(pipe: object, path: Path, number: int, duration_s: float) -> None:
    """Take in cases, turn after turn, and send turns, waits, rows that were acknowledged, and what went wrong."""
    from kg.errors import WorkspaceError
    from tests.endurance.disorder.places import editor

    end, turns, waits, rows, wrong = time.monotonic() + duration_s, 0, 0, 0, []
    file = path.parent / f"writer-{number}.jsonl"
    while time.monotonic() < end:
        start = (number + 1) * 1_000_000 + turns * CASES_A_TURN
        file.write_text(cases(start, CASES_A_TURN, f"writer/{number}"))
        try:
            with editor(path) as writing:
                done = writing.ingest([file], batch_rows=BATCH_ROWS)
        except WorkspaceError as error:
            if "is being written to by" not in str(error):
                wrong.append(f"writer {number}: {error}")
            waits += 1
            time.sleep(0.05)
            continue
        except Exception as error:  # noqa: BLE001 - whatever a writer meets is counted
            wrong.append(f"writer {number}: {type(error).__name__}: {error}")
            continue
        rows += done.added.rows
        turns += 1
    pipe.send(("writer", turns, waits, rows, wrong))  # type: ignore[attr-defined]  # a connection


def read(pipe: object, path: Path, number: int, duration_s: float) -> None:
    """Read all there is again and again, and send how often, and what went wrong."""
    end, times, rows, wrong = time.monotonic() + duration_s, 0, 0, []
    while time.monotonic() < end:
        try:
            with reader(path) as workspace:
                seen = workspace.trials.counts().trials
                told = [item.says for item in workspace.upkeep.check() if item.severity == "fault"]
        except Exception as error:  # noqa: BLE001 - whatever a reader meets is counted
            wrong.append(f"reader {number}: {type(error).__name__}: {error}")
            continue
        wrong += [f"reader {number}: {text}" for text in told]
        if seen < rows:
            wrong.append(f"reader {number}: {seen} rows after {rows}")
        rows, times = seen, times + 1
    pipe.send(("reader", times, 0, 0, wrong))  # type: ignore[attr-defined]  # a connection


def measure(place: Path, seconds: float, writers: int, readers: int) -> dict[str, object]:
    """Let them work in a folder for so long; return the figures."""
    children_import_from_here()
    path, processes = place / "workspace", context()
    Workspace.create(path, cache=place / "cache", text_model=None, with_shipped=False)
    ours, theirs = processes.Pipe(duplex=False)
    crowd = [
        processes.Process(target=work, args=(theirs, path, number, seconds), daemon=True)
        for work, count in ((write, writers), (read, readers))
        for number in range(count)
    ]
    for one in crowd:
        one.start()
    theirs.close()
    ended: list[tuple[str, int, int, int, list[str]]] = []
    with suppress(EOFError):
        while len(ended) < len(crowd):
            ended.append(ours.recv())
    for one in crowd:
        one.join()
    wrong = [text for *_, told in ended for text in told]
    rows = sum(item[3] for item in ended)
    with reader(path) as workspace:
        there = workspace.trials.counts().trials
    return {
        "reads": sum(item[1] for item in ended if item[0] == "reader"),
        "turns": sum(item[1] for item in ended if item[0] == "writer"),
        "waits": sum(item[2] for item in ended),
        "died": len(crowd) - len(ended),
        "rows_acknowledged": rows,
        "rows_lost": rows - there,
        "wrong": wrong[:10],
        "faults": faults(path),
    }


def main() -> None:
    """Run and print."""
    given = harness.read(
        __doc__,
        harness.option("--seconds", type=float, default=600.0),
        harness.option("--writers", type=int, default=3),
        harness.option("--readers", type=int, default=5),
        quick="ten seconds",
        published=1,
    )
    with tempfile.TemporaryDirectory(prefix="crowd-") as folder:
        seconds = 10.0 if given.quick else given.seconds
        figures = measure(Path(folder), seconds, given.writers, given.readers)
        print(*figures["wrong"], sep="\n", file=sys.stderr)  # type: ignore[misc]  # texts
        given.last_line({**figures, "seconds": seconds})


if __name__ == "__main__":
    main()
