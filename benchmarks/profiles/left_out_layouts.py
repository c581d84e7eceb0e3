"""Known faults in profiles of layouts on which no analyser was debugged: tables of a cluster, a trace alone.

Both are real files. What shows in them is less than in a folder of a rank, so the kinds of faults are fewer.
"""

import csv
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.profiles.profile_faults import FAULTS
from benchmarks.profiles.profile_files import Random
from ingest.profiles.facts.run import Profile
from ingest.profiles.folders import read_profile

COSTS = (0.1, 0.4)
"""Share of the altered step that a fault costs, as in the altered folders."""
EXPOSED = ("Communication(Not Overlapped)", "Communication",
           "Communication(Not Overlapped and Exclude Receive)")  # fmt: skip
Rows = list[dict[str, str]]
Events = list[dict[str, Any]]


# ------------------------------------------------------------------ tables of a cluster
def longer(row: dict[str, str], cost: float, *parts: str) -> None:
    for part in (*parts, "Stage"):
        row[part] = str(float(row[part]) + cost)


def slow_rank(rows: Rows, cost: float, random: Random) -> None:
    """One rank computes longer, and the others of its stage wait."""
    struck = int(random.integers(len(rows)))
    for place, row in enumerate(rows):
        longer(row, cost, *(("Computing",) if place == struck else EXPOSED))


def late_host(rows: Rows, cost: float, random: Random) -> None:
    """The hosts of all ranks leave their devices idle."""
    for row in rows:
        longer(row, cost, "Free")


def bubble(rows: Rows, cost: float, random: Random) -> None:
    """All ranks wait for their neighbours."""
    for row in rows:
        longer(row, cost, "Bubble", *EXPOSED[:2])


CLUSTER: dict[str, Callable[[Rows, float, Random], None]] = {
    "slow-rank": slow_rank,
    "host-bound": late_host,
    "pipeline-bubble": bubble,
}


def table_jitter(rows: Rows, random: Random) -> None:
    """Run-to-run noise on the parts of each rank's step."""
    for row in rows:
        for part in ("Computing", "Free"):
            more = float(row[part]) * float(np.clip(random.normal(0, 0.01), -0.03, 0.03))
            longer(row, more, part)


def write_table(rows: Rows, folder: Path) -> None:
    with (folder / "cluster_step_trace_time.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


# ------------------------------------------------------------------ a trace alone
def on_device(events: Events) -> Events:
    """Kernels, in the order of their begin."""
    home = {
        e["pid"] for e in events if e.get("ph") == "M" and e.get("args", {}).get("name") == "Ascend Hardware"
    }
    found = [e for e in events if e.get("ph") == "X" and e["pid"] in home]
    return sorted(found, key=lambda e: float(e["ts"]))


def begin(event: dict[str, Any]) -> float:
    return float(event["ts"])


def delay(events: Events, at: float, by: float) -> None:
    """Everything from ``at`` on begins later."""
    for event in events:
        if "ts" in event and begin(event) >= at:
            event["ts"] = f"{begin(event) + by:.3f}"


def gaps(events: Events, cost: float, random: Random, count: int) -> None:
    kernels = on_device(events)
    for _ in range(count):
        delay(events, begin(kernels[int(random.integers(1, len(kernels)))]), cost / count)


def called(events: Events, name: str, spent: float, count: int, **more: str) -> None:
    """Events of the host, each as long as its share."""
    at = begin(on_device(events)[0])
    events += [
        {"ph": "X", "name": name, "pid": 99, "tid": 1, "ts": f"{at + i:.3f}", "dur": spent / count, "args": {}, **more}
        for i in range(count)
    ]  # fmt: skip


def idle_host(events: Events, cost: float, random: Random) -> None:
    gaps(events, cost, random, 25)


def collector(events: Events, cost: float, random: Random) -> None:
    gaps(events, cost, random, 2)
    called(events, "GC", cost, 2)


def loader(events: Events, cost: float, random: Random) -> None:
    gaps(events, cost, random, 1)
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    called(events, name, cost, 1, cat="cpu_op")


def inserted(kind: str, of: str, count: int = 20) -> Callable[[Events, float, Random], None]:
    """Kernels more, between those of the job."""

    def strike(events: Events, cost: float, random: Random) -> None:
        kernels = on_device(events)
        for _ in range(count):
            before = kernels[int(random.integers(1, len(kernels)))]
            at = begin(before)
            delay(events, at, cost / count + 1.0)
            name = f"aclnn{of}_{kind}AiCore_{kind}"
            events.append({**before, "name": name, "ts": f"{at:.3f}", "dur": cost / count})

    return strike


LEAST_US = {"python-gc-high-latency": 4000.0, "slow-dataloader": 12_000.0}
"""Below this a pause is as short as the published thresholds allow one: the rule of the altered folders."""
TRACE: dict[str, Callable[[Events, float, Random], None]] = {
    "host-bound": idle_host,
    "python-gc-high-latency": collector,
    "slow-dataloader": loader,
    "cast-traffic": inserted("Cast", "Cast"),
    "layout-transform": inserted("TransData", "InplaceCopy"),
    "memory-copies": inserted("ConcatD", "Cat"),
}


def trace_jitter(events: Events, random: Random) -> None:
    """Run-to-run noise of kernel times, no longer than the gap behind them."""
    for event in on_device(events):
        event["dur"] = event["dur"] * float(np.clip(random.normal(0.98, 0.01), 0.94, 1.0))


def write_trace(events: Events, folder: Path) -> None:
    (folder / "trace_view.json").write_text(json.dumps(events))


# ------------------------------------------------------------------ both
def score(
    profiles: Path, random: Random, named: Callable[..., Any], kind: type, where: Path, *, runs: int
) -> dict[str, object]:
    """Figures by layout: single faults, and run-to-run noise alone."""
    found: dict[str, object] = {}
    known = {fault.node: fault for fault in FAULTS}
    for home in sorted(item for item in profiles.iterdir() if item.is_dir()):
        table, trace = home / "cluster_step_trace_time.csv", home / "trace_view.json"
        if table.is_file():
            with table.open(encoding="utf-8-sig", newline="") as file:
                content = [row for row in csv.DictReader(file) if row["Type"] == "rank"]
            length = max(float(row["Stage"]) for row in content)
            strikes: Mapping[str, Callable[..., None]] = CLUSTER
            jitter: Callable[..., None] = table_jitter
            write: Callable[..., None] = write_table
        elif trace.is_file():
            events = json.loads(trace.read_text(encoding="utf-8"))
            summed = {
                e["pid"]
                for e in events
                if e.get("ph") == "M" and e.get("args", {}).get("name") == "Overlap Analysis"
            }
            content = [e for e in events if e.get("pid") not in summed]
            kernels = on_device(content)
            if not kernels:
                continue
            length = begin(kernels[-1]) - begin(kernels[0])
            strikes, jitter, write = TRACE, trace_jitter, write_trace
        else:
            continue

        def run(altered: list[Any], write: Callable[..., Any] = write) -> Profile:
            folder = where / "left_out"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            write(altered, folder)
            return read_profile(folder)

        result = kind()
        before = run(content)
        for node, strike in strikes.items():
            for _ in range(runs):
                copy = json.loads(json.dumps(content))
                share = random.uniform(*COSTS)
                jitter(copy, random)
                cost = length * share / (1 - share)
                if cost <= LEAST_US.get(node, 0.0):
                    continue
                strike(copy, cost, random)
                result.single(known[node], named(run(copy), before))
        for _ in range(2 * runs):
            copy = json.loads(json.dumps(content))
            jitter(copy, random)
            result.healthy.append(bool(named(run(copy), before)))
        kinds = {node: [float(np.mean([a for a, _ in rows])), float(np.mean([b for _, b in rows]))]
                 for node, rows in sorted(result.singles.items())}  # fmt: skip
        found[home.name] = {**result.figures(), "kinds": kinds}
    return found
