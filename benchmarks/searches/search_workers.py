"""Workers of one search in PostgreSQL: time to a quality with several against one, and what a crash costs.

    python -m benchmarks.searches.search_workers [--storage URL] [--workers 4] [--seeds 8] [--seconds 1] [--alone] [--quick]

The objective is a command that looks a configuration up in the enumerated space of a shipped search file of the
cost model (modelled, not measured) and sleeps for about ``--seconds``: what workers share is waiting, as on a
cluster. Each run is 40 evaluations, cold, with ``tunegraph search worker`` in processes of their own. Then a search
of which one worker is killed with -9 and, where the server is this program's own, the server as well.

Time runs from the beginning of the first evaluation to the end of the first that is within 1 % (5 %) of the best of
the space; a miss counts as the end of the run. ``workers_time_ratio`` is the mean over seeds with several workers
over that with one. ``--alone`` ends each search at 1 %, so that more seeds (from ``--first`` on) take less time. The
last line is JSON.
"""

import argparse
import contextlib
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks import harness
from benchmarks.protocols.processes import children_import_from_here, one_thread
from kg.nouns.values import Settings
from recommender.search.log.study import SearchLog

BUDGET = 40
FILE = "bert-large-8x910"
NEAR = (0.01, 0.05)
LOOKUP = """
import json, sqlite3, sys, time
table, seconds, *told = sys.argv[1:]
key = " ".join(sorted(told))
time.sleep(float(seconds) * (1 + 0.1 * (sum(key.encode()) % 11) / 10))
row = sqlite3.connect(table).execute("select throughput, memory from surface where key = ?", [key]).fetchone()
if row is None:
    sys.exit("out of memory")
print(json.dumps({"throughput": row[0], "memory": row[1]}))
"""
Tried = list[tuple[float, float, Settings]]
"""Beginning and end of each evaluation, seconds since the first began, and what was set."""


class Surface:
    """The space, enumerated, as a table that a command reads.

    Attributes:
        folder: Where the command and the search file are.
        best: Highest throughput within the limit.
    """

    def __init__(self, folder: Path, seconds: float) -> None:
        from benchmarks.searches.search_cost_model import World
        from benchmarks.worlds.shipped import ShippedKnowledge
        from recommender.search.run.task_file import read_task_file

        world = World(FILE, ShippedKnowledge.load())
        self.folder = folder
        self.task = world.task
        self.bound = world.limits[0].maximum
        self.values = {item: (row[0], row[-1]) for item, row in world.values.items() if row is not None}
        self.best = max(value for value, memory in self.values.values() if memory <= self.bound)
        with contextlib.closing(sqlite3.connect(folder / "surface.db")) as table, table:
            table.execute("create table surface (key text primary key, throughput real, memory real)")
            rows = ((" ".join(words(item)), *row) for item, row in self.values.items())
            table.executemany("insert into surface values (?, ?, ?)", rows)
        (folder / "lookup.py").write_text(LOOKUP)
        raw = read_task_file(FILE).raw
        self.raw: dict[str, Any] = {key: raw[key] for key in ("parameters", "constraints", "default")}
        command = [sys.executable, "-S", "-E", "lookup.py", "surface.db", f"{seconds:g}"]
        self.raw |= {
            "command": [*command, *(f"{name}={{{name}}}" for name in self.task.space.names)],
            "metrics": {
                "throughput": {"path": "throughput", "unit": "tokens/s"},
                "peak_memory": {"path": "memory", "unit": "B"},
            },
            "objectives": ["throughput"],
            "limits": [f"peak_memory<={self.bound:.0f}B"],
            "stop": {"evaluations": BUDGET},
            "timeout_s": 60 + 2 * seconds,
        }

    def gap(self, settings: Settings) -> float:
        """How far below the best, as a share of it; inf where it fails or breaks the limit."""
        value, memory = self.values.get(settings, (0.0, np.inf))
        return 1 - value / self.best if memory <= self.bound else np.inf

    def time_to(self, tried: Tried, near: float) -> tuple[float, int, bool]:
        """Seconds and evaluations until within a share of the best, and whether it was reached at all."""
        ordered = sorted(tried, key=lambda item: item[1])
        for place, (_, end, settings) in enumerate(ordered, 1):
            if self.gap(settings) <= near:
                return end, place, True
        return ordered[-1][1], len(ordered), False


def words(settings: Settings) -> list[str]:
    return sorted(f"{name}={value}" for name, value in settings.items())


def begin(surface: Surface, url: str, name: str, seed: int, workspace: Path) -> SearchLog:
    """Begin a search, as a user does."""
    (surface.folder / "search.yaml").write_text(
        yaml.safe_dump({"name": name, **surface.raw}, sort_keys=False)
    )
    script(
        "--workspace", workspace, "search", "run", "search.yaml", "--log", url, "--cold", "--no-evaluate",
        "--seed", seed, folder=surface.folder,
    )  # fmt: skip
    return SearchLog.open(url, name=name)


def script(*arguments: object, folder: Path) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("tunegraph"), *map(str, arguments)],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr)


def worker(url: str, name: str) -> subprocess.Popen[str]:
    tool = Path(sys.executable).with_name("tunegraph")
    return subprocess.Popen(
        [tool, "search", "worker", "--storage", url, "--name", name, "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def course(log: SearchLog) -> tuple[Tried, float]:
    """What was tried when, and the Unix time at which the first began."""
    trials = [item for item in log.study().trials if item.datetime_complete]
    first = min(item.datetime_start.timestamp() for item in trials)
    return [
        (x.datetime_start.timestamp() - first, x.datetime_complete.timestamp() - first, Settings(x.params))
        for x in trials
    ], first


def searched(
    surface: Surface, url: str, name: str, seed: int, workspace: Path, count: int, *, whole: bool
) -> tuple[Tried, float]:
    """A search by some workers, to its end or to 1 %; and how long its first evaluation took to begin."""
    log = begin(surface, url, name, seed, workspace)
    started = time.time()
    several = [worker(url, name) for _ in range(count)]
    while not whole and any(one.poll() is None for one in several):
        if any(surface.gap(item.configuration) <= NEAR[0] for item in log.trials() if item.evaluation):
            for one in several:
                one.terminate()
            break
        time.sleep(0.5)
    for one in several:
        one.communicate()
    tried, first = course(log)
    return tried, first - started


def crashed(
    surface: Surface, url: str, workspace: Path, count: int, server: Any, seed: int
) -> dict[str, object]:
    """A search of which one worker and the server are killed."""
    log = begin(surface, url, "crashed", seed, workspace)
    workers = [worker(url, "crashed") for _ in range(count)]
    victim = str(workers[0].pid)
    while True:  # until the one to be killed is at a trial, and something has been told
        trials = log.trials()
        told = [item for item in trials if item.evaluation is not None]
        if len(told) >= count and any(
            x.state == "RUNNING" and x.owner.split(":")[1] == victim for x in trials
        ):
            break
        time.sleep(0.05)
    workers[0].kill()
    if server is not None:
        server.kill()
        time.sleep(2)
        server.start()
    outputs = [one.communicate()[0] for one in workers]
    reports = [json.loads(out) for out in outputs[1:]]
    trials = log.trials()
    ended = [item.configuration for item in trials if item.evaluation is not None]
    kept = {item.number: item.evaluation for item in trials}
    return {
        "lost": sum(kept[item.number] != item.evaluation for item in told) + BUDGET - len(ended),
        "evaluated_twice": len(ended) - len(set(ended)),
        "requeued": sum(item["requeued"] for item in reports),
        "server_restarted": server is not None,
    }


def twice(tried: Tried) -> int:
    return len(tried) - len({settings for _, _, settings in tried})


def measure(options: argparse.Namespace, url: str, server: Any, folder: Path) -> dict[str, Any]:
    from recommender.workspace.workspace import Workspace

    Workspace.create(folder / "workspace", cache=folder / "cache", text_model=None, with_shipped=False)
    os.environ["TUNEGRAPH_CACHE"] = str(folder / "cache")
    surface = Surface(folder, options.seconds)
    mark = hashlib.sha256(str(time.time_ns()).encode()).hexdigest()[:6]
    count, workspace = options.workers, folder / "workspace"
    runs: dict[str, list[Tried]] = {"one": [], "several": []}
    starts: dict[str, list[float]] = {"one": [], "several": []}
    first = options.seed_range(1)[0] if options.first is None else options.first
    for seed in range(first, first + options.seeds):
        for kind, workers in (("one", 1), ("several", count)):
            tried, start_s = searched(
                surface, url, f"{kind}-{mark}-{seed}", seed, workspace, workers, whole=not options.alone
            )
            runs[kind].append(tried)
            starts[kind].append(start_s)
        for kind, courses in runs.items():
            reached = [surface.time_to(courses[-1], near) for near in NEAR]
            told = "  ".join(
                f"{100 * near:.0f} %: {seconds:5.1f} s, {place:2} evaluations{'' if hit else ' (missed)'}"
                for near, (seconds, place, hit) in zip(NEAR, reached, strict=True)
            )
            last = max(end for _, end, _ in courses[-1])
            print(f"seed {seed}  {kind:8}{told}  all {len(courses[-1])}: {last:5.1f} s", flush=True)
    figures: dict[str, Any] = {"seeds": options.seeds, "workers": count, "seconds": options.seconds}
    for kind, several in runs.items():
        row: dict[str, Any] = {}
        for near in NEAR:
            reached = [surface.time_to(tried, near) for tried in several]
            row[f"time_to_{100 * near:.0f}_mean_s"] = round(float(np.mean([x for x, _, _ in reached])), 2)
            row[f"evals_to_{100 * near:.0f}_mean"] = round(float(np.mean([x for _, x, _ in reached])), 2)
            row[f"missed_{100 * near:.0f}"] = sum(not hit for _, _, hit in reached)
        row["time_all_mean_s"] = round(float(np.mean([max(x for _, x, _ in tried) for tried in several])), 2)
        row["evaluated_twice"] = sum(map(twice, several))
        figures[kind] = row
    one, four = figures["one"], figures["several"]
    figures["workers_time_ratio"] = round(four["time_to_1_mean_s"] / one["time_to_1_mean_s"], 3)
    figures["workers_time_ratio_5"] = round(four["time_to_5_mean_s"] / one["time_to_5_mean_s"], 3)
    ratio = round(four["time_all_mean_s"] / one["time_all_mean_s"], 3)
    figures["workers_time_ratio_all"] = None if options.alone else ratio
    figures["start_s"] = {kind: round(float(np.mean(found)), 2) for kind, found in starts.items()}
    figures |= crashed(surface, url, workspace, count, server, first)
    figures["evaluated_twice"] += one["evaluated_twice"] + four["evaluated_twice"]
    return figures


def main() -> None:
    one_thread()
    children_import_from_here()
    options = harness.read(
        __doc__,
        harness.option(
            "--storage", help="URL of an empty PostgreSQL database; a server of its own if not given"
        ),
        harness.option("--workers", type=int, default=4),
        harness.option("--seeds", type=int, default=8),
        harness.option("--seconds", type=float, default=1.0, help="how long an evaluation sleeps"),
        harness.option("--first", type=int, help="the first seed; by --seed if none"),
        harness.option("--alone", action="store_true", help="only to 1 %%"),
        quick="one seed, a quarter of the sleep",
    )
    if options.quick:
        options.seeds, options.seconds = 1, options.seconds / 4
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server, url = None, options.storage
        if url is None:
            from tests.postgres_server import PostgresServer

            server = stack.enter_context(PostgresServer())
            url = server.url().replace("postgresql://", "postgresql+psycopg://")
        options.last_line(measure(options, url, server, folder))


if __name__ == "__main__":
    main()
