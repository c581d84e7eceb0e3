"""Kill a writer with signal 9 at random moments and look at what is left.

A child process ingests a folder in small batches and says which batch was acknowledged, and with how many
rows. The folder is another one each time: a slice of real cases, generated cases and, with ``--formats``,
three files of other formats. The parent kills the child at a random moment of its work, opens the workspace
as the next writer would, and asks: is everything acknowledged there, is every problem whole, do readers
answer, does the index heal. Kills share a workspace in rounds. At the end of a round everything is ingested
to the end, and the workspace must hold just the rows of one that was never killed.

    python -m tests.endurance.crash --known ../shared/data/cases [--formats ../shared/data/formats]
                               [--kills 100] [--quick]

Children are forked from a process that has imported everything, so a kill costs tenths of a second; one that
ends before its moment is not counted. Prints a line a kill; the last line is JSON: kills, lost, torn,
batches_acknowledged, rows_acknowledged, rows_lost, torn_problems, broken_opens, index_faults,
kills_with_work_unacknowledged, ended_before, rounds, rows_not_recovered, seconds_a_kill.
"""

from __future__ import annotations

import gzip
import itertools
import json
import multiprocessing
import random
import shutil
import tempfile
import time
from pathlib import Path

from benchmarks import harness
from benchmarks.protocols.processes import children_import_from_here

ROWS_A_FILE = 160
BATCH_ROWS = 40
MOST_BATCHES = 4
LONGEST_LIFE_S = 0.2
"""A child lives up to so long after its first sign of life, or after up to so many acknowledged batches, so kills
fall on every stage of its work however busy the machine is."""
ROUND = 50
"""Kills on one workspace."""
LINES_A_CORPUS = 4000
OTHERS = 3
"""Files of other formats in a folder."""
LARGEST = 300_000
"""Bytes of the largest file of another format; reading a larger one takes longer than a child lives."""
PRELOADED = (
    "recommender.workspace.workspace",
    "recommender.store.editor",
    "recommender.store.writing.writer",
    "ingest.formats.registry",
)


def rows_of(known: Path) -> itertools.cycle[str]:
    """Lines of the cases, corpora mixed, for ever; later rounds repeat what is known already."""
    lines: list[str] = []
    for path in sorted(known.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            lines += itertools.islice(stream, LINES_A_CORPUS)
    random.Random(11).shuffle(lines)
    return itertools.cycle(lines)


def generated(rng: random.Random, number: int) -> str:
    """Made-up cases as lines: a tenth failed, a tenth cannot be read."""
    lines = []
    for _ in range(ROWS_A_FILE // 2):
        failed = rng.random() < 0.1
        case = {
            "task": {"kind": "kernel", "op": "made_up", "shape": {"n": rng.choice((1, 2, 3)) * number}},
            "hardware": {"name": rng.choice(("A100", "H20", "Ascend 910B")), "count": 1},
            "config": {"a": rng.randrange(64), "b": rng.choice(("x", "y"))},
            "outcome": {"metric": "kernel_time", "status": "failed"}
            if failed
            else {"metric": "kernel_time", "unit": "ms", "value": rng.uniform(0.1, 9), "status": "ok"},
            "source": {"repo": "made/up"},
        }
        lines.append(json.dumps(case) if rng.random() < 0.9 else '{"task": ')
    return "\n".join(lines) + "\n"


def others(formats: Path | None) -> list[Path]:
    """Files of other formats, each small enough for a child's life."""
    found = sorted(formats.rglob("*")) if formats is not None else []
    return [path for path in found if path.is_file() and path.stat().st_size <= LARGEST]


def child(workspace: str, cache: str, folder: str, said: str) -> None:
    """Ingest a folder in small batches, saying what is acknowledged; dies of the kill, or ends."""
    from recommender.workspace.workspace import Workspace

    with Path(said).open("a", encoding="ascii", buffering=1) as tell:
        editor = Workspace.editor(Path(workspace), cache=Path(cache), command="crash benchmark")
        print("alive", file=tell)
        with editor:
            editor.ingest(
                [Path(folder)],
                on_batch=lambda added: print(f"acknowledged {added.rows}", file=tell),
                batch_rows=BATCH_ROWS,
            )
        print("done", file=tell)


class Killer:
    """Starts children and kills them."""

    def __init__(self, place: Path, rng: random.Random) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(PRELOADED))
        self._place = place
        self._rng = rng

    def __call__(self, workspace: Path, folder: Path) -> tuple[int, int, bool]:
        """Batches and rows that a child said were acknowledged, and whether it ended before the kill."""
        said = self._place / "said"
        said.write_text("", encoding="ascii")
        arguments = (str(workspace), str(self._place / "cache"), str(folder), str(said))
        process = self._context.Process(target=child, args=arguments)
        process.start()
        batches = self._rng.randint(0, MOST_BATCHES)
        while said.read_bytes().count(b"\n") <= batches and process.is_alive():
            time.sleep(0.002)
        process.join(self._rng.uniform(0, LONGEST_LIFE_S))
        process.kill()
        process.join()
        lines = said.read_text(encoding="ascii").splitlines()
        rows = [int(line.split()[1]) for line in lines if line.startswith("acknowledged ")]
        return sum(1 for number in rows if number), sum(rows), "done" in lines


def inspect(workspace: Path, cache: Path) -> tuple[int, list[str]]:
    """Rows that a reader sees after the next writer opened, and everything that is wrong."""
    from recommender.workspace.workspace import Workspace

    with Workspace.editor(workspace, cache=cache, command="crash benchmark"):
        pass
    with Workspace.open(workspace, cache=cache) as after:
        faults = [
            f"{found.about}: {found.says}" for found in after.upkeep.check() if found.severity == "fault"
        ]
        return after.trials.counts().trials, faults


def finish(workspace: Path, cache: Path, folders: list[Path]) -> int:
    """Ingest all folders to the end; rows there are afterwards."""
    from recommender.workspace.workspace import Workspace

    with Workspace.open(workspace, cache=cache) as opened:
        opened.ingest(*folders)
        return opened.trials.counts().trials


def main() -> None:
    options = harness.read(
        __doc__,
        harness.place("--known", help="folder of case JSONL files"),
        harness.place("--formats", help="folder of files of other formats", required=False),
        harness.option("--kills", type=int, default=100),
        harness.option("--minutes", type=float, default=600.0, help="stop earlier, after so long"),
        quick="10 kills",
        published=7,
    )
    kills = 10 if options.quick else options.kills
    figures = measure(options.known, options.formats, kills, options.seed, options.minutes * 60)
    options.last_line(figures)


def measure(
    known: Path, formats: Path | None, kills: int, seed: int, seconds: float = 36_000.0
) -> dict[str, float]:
    """Kill ``kills`` children, or as many as ``seconds`` allow."""
    children_import_from_here()
    rng = random.Random(seed)
    lines, small = rows_of(known), others(formats)
    figures: dict[str, float] = dict.fromkeys(
        (
            "kills",
            "lost",
            "torn",
            "batches_acknowledged",
            "rows_acknowledged",
            "rows_lost",
            "torn_problems",
            "broken_opens",
            "index_faults",
            "kills_with_work_unacknowledged",
            "ended_before",
            "rounds",
            "rows_not_recovered",
        ),
        0,
    )
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tunegraph-crash-") as place:
        killer = Killer(Path(place), rng)
        while figures["kills"] < kills and time.monotonic() - started < seconds:
            figures["rounds"] += 1
            most = min(ROUND, kills - int(figures["kills"]))
            _round(Path(place), killer, lines, small, rng, most, figures, started + seconds)
    figures["lost"] = figures["rows_lost"] + figures["rows_not_recovered"]
    figures["torn"] = figures["torn_problems"] + figures["broken_opens"] + figures["index_faults"]
    figures["seconds_a_kill"] = round((time.monotonic() - started) / max(1, figures["kills"]), 3)
    return figures


def _round(
    place: Path,
    killer: Killer,
    lines: itertools.cycle[str],
    small: list[Path],
    rng: random.Random,
    kills: int,
    figures: dict[str, float],
    until: float,
) -> None:
    """Kill ``kills`` children over one growing workspace, and compare it with one that was left alone."""
    from recommender.workspace.workspace import Workspace

    workspace, cache, files = place / "workspace", place / "cache", place / "files"
    Workspace.create(workspace, cache=cache, text_model=None, with_shipped=False)
    folders: list[Path] = []
    seen = killed = 0
    while killed < kills and time.monotonic() < until:
        folder = files / str(len(folders))
        folder.mkdir(parents=True)
        folders.append(folder)
        parts = [folder / str(number) for number in range(2 + min(OTHERS, len(small)))]
        for part in parts:  # read in this order
            part.mkdir()
        rng.shuffle(parts)
        text = "".join(itertools.islice(lines, ROWS_A_FILE))
        (parts.pop() / "cases.jsonl").write_text(text, encoding="utf-8")
        (parts.pop() / "generated.jsonl").write_text(generated(rng, len(folders)), encoding="utf-8")
        for path in rng.sample(small, len(parts)):
            shutil.copy(path, parts.pop() / path.name)
        batches, rows, finished = killer(workspace, folder)
        killed += not finished
        figures["kills"] += not finished
        figures["ended_before"] += finished
        figures["batches_acknowledged"] += batches
        figures["rows_acknowledged"] += rows
        about = f"kill {int(figures['kills'])}"
        try:
            there, faults = inspect(workspace, cache)
        except Exception as error:  # noqa: BLE001  any failure to open is what is being counted
            figures["broken_opens"] += 1
            print(f"{about}: cannot be opened: {error!r}")
            continue
        figures["rows_lost"] += max(0, seen + rows - there)
        figures["torn_problems"] += sum("index" not in fault for fault in faults)
        figures["index_faults"] += sum("index" in fault for fault in faults)
        figures["kills_with_work_unacknowledged"] += there > seen + rows
        print(
            f"{about}: {batches} batches, {rows} rows acknowledged, {there - seen} found"
            + (", ended before the kill" if finished else "")
            + (f"; {faults}" if faults else ""),
            flush=True,
        )
        seen = there
    whole = place / "whole"
    Workspace.create(whole, cache=cache, text_model=None, with_shipped=False)
    there, expected = finish(workspace, cache, folders), finish(whole, cache, folders)
    figures["rows_not_recovered"] += abs(expected - there)
    print(f"round {int(figures['rounds'])}: {there} rows after all, {expected} without kills", flush=True)
    for folder in (workspace, whole, files):
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
