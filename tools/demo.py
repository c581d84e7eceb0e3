"""The demonstration that `make demo` prints.

Without a folder: the scenario of the founding documents (BERT-large on eight Ascend 910) answered from the
shipped knowledge. With ``--cases FOLDER``: the folder is ingested but for one device of an MoE layer and
one of a convolution kernel; the questions are about those, and the withheld rows tell how good the answers
were.
"""

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recommender.workspace.workspace import Workspace

RAW = argparse.RawDescriptionHelpFormatter
EXAMPLE = "data/examples/bert-large-8x910.yaml"
K = 3


def say(title: str) -> None:
    """A heading."""
    print(f"\n=== {title}\n", flush=True)


def tunegraph(*arguments: str) -> str:
    """Run the script as a user would, showing the command; returns what it printed."""
    script = Path(sys.executable).with_name("tunegraph")
    print("$ tunegraph " + " ".join(f'"{word}"' if " " in word else word for word in arguments), flush=True)
    done = subprocess.run([str(script), *arguments], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in {0, 2, 3}:
        raise SystemExit(done.returncode)
    return done.stdout


@dataclass(frozen=True)
class Withheld:
    """The rows of one operator on one device, kept from the workspace.

    Attributes:
        title: What the question is.
        device: Name of the device in the rows.
        rows: Its cases.
    """

    title: str
    device: str
    rows: list[dict[str, Any]]


def lines(folder: Path) -> Iterator[str]:
    """All lines of the case files in a folder."""
    for path in sorted(folder.rglob("*.jsonl*")):
        unpack = gzip.open if path.suffix == ".gz" else open
        with unpack(path, "rt", encoding="utf-8") as stream:
            yield from stream


def is_layout(row: dict[str, Any]) -> bool:
    """True if a row is one of the questions about MoE layouts."""
    return "moe_tp_size" in row["config"] and row["hardware"].get("count") == 8


def is_convolution(row: dict[str, Any]) -> bool:
    """True if a row is one of the questions about convolution kernels."""
    return row["task"]["kind"] == "kernel" and "convolution" in row["task"]["op"]


def withhold(folder: Path, kept: Path) -> list[Withheld]:
    """Copy the cases to ``kept`` but for those of one device for each question."""
    devices: dict[str, dict[str, set[str]]] = {"layout": defaultdict(set), "kernel": defaultdict(set)}
    tests: dict[str, Callable[[dict[str, Any]], bool]] = {"layout": is_layout, "kernel": is_convolution}
    for line in lines(folder):
        if '"moe_tp_size"' in line or "onvolution" in line:
            row = json.loads(line)
            for name, test in tests.items():
                if test(row):
                    devices[name][row["task"]["op"]].add(row["hardware"]["name"])
    chosen = {}
    for name, operators in devices.items():
        many = {op: sorted(found) for op, found in operators.items() if len(found) > 1}
        if many:
            op = max(many, key=lambda item: len(many[item]))
            chosen[name] = (op, many[op][len(many[op]) // 2])
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in chosen}
    with kept.open("w", encoding="utf-8") as stream:
        for line in lines(folder):
            for name, (op, device) in chosen.items():
                if f'"{op}"' in line and device in line:
                    row = json.loads(line)
                    if row["task"]["op"] == op and row["hardware"]["name"] == device:
                        rows[name].append(row)
                        break
            else:
                stream.write(line)
    titles = {"layout": "a parallel layout for an MoE layer", "kernel": "a convolution kernel"}
    return [Withheld(titles[name], device, rows[name]) for name, (_, device) in chosen.items()]


def truth(rows: list[dict[str, Any]], test: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """The rows of the withheld problem where a wrong choice costs most."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if test(row) and row["outcome"]["status"] == "ok":
            groups[row["group_id"]].append(row)

    def spread(group: list[dict[str, Any]]) -> float:
        values = [row["outcome"]["value"] for row in group]
        return max(values) / min(values) if len(values) > 2 else 0.0

    return max(groups.values(), key=spread, default=[])


def ask(workspace: Workspace, item: Withheld, known: list[dict[str, Any]]) -> None:
    """Ask about a withheld problem and hold the answer against its rows."""
    task, hardware = known[0]["task"], known[0]["hardware"]
    raw = {
        "op": task["op"],
        "shape": task["shape"],
        "precision": task["dtype"] if isinstance(task.get("dtype"), str) else None,
        "traits": {name: task[name] for name in ("distribution",) if name in task},
        "hardware": hardware["name"],
        "count": hardware.get("count"),
    }
    question, _ = workspace.problem({name: value for name, value in raw.items() if value})
    work = question.workload
    print(f"{work.operator} ({work.shape}) on {item.device}, whose rows are withheld")
    answer = workspace.recommend(question, K)
    best = min(row["outcome"]["value"] for row in known)
    worst = max(row["outcome"]["value"] for row in known)
    found = {json.dumps(row["config"], sort_keys=True): row["outcome"]["value"] for row in known}
    for place, recommendation in enumerate(answer, 1):
        configuration = recommendation.configuration.to_json()
        value = found.get(json.dumps(configuration, sort_keys=True))
        was = f"{value / best:.3f} x the best of {len(known)}" if value else "not among the withheld rows"
        print(f"  {place}. {recommendation.configuration}\n     {recommendation.basis}\n     in truth: {was}")
    median = sorted(row["outcome"]["value"] for row in known)[len(known) // 2]
    print(f"  the median configuration: {median / best:.2f} x the best; the worst: {worst / best:.1f} x")


def shipped(workspace: Path) -> None:
    """The scenario of the founding documents."""
    say("BERT-large on eight Ascend 910, from the shipped knowledge")
    at = ("--workspace", str(workspace))
    answer = json.loads(tunegraph(*at, "recommend", EXAMPLE, "--json"))
    print(f"(a start and {len(answer['changes'])} changes as JSON; the same for people:)\n")
    print(tunegraph(*at, "recommend", EXAMPLE))
    say("Why the first one")
    print(tunegraph(*at, "explain", answer["changes"][0]["id"]))
    say("What the workspace holds")
    print(tunegraph(*at, "kb", "stats"))
    say("Searching for it, on the cost model")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tools.demo_search"),
            *("--workspace", str(workspace), "--seeds", "5"),
        ],
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.returncode)
    ceiling = answer["ceiling_factor"]
    print()
    print(
        "The founding documents ask for 2.7x. With everything they observed removed wholly the gain is at\n"
        f"most {ceiling:.2f}x. No measured operator of the Ascend 910 (A) is public, so no gain above is\n"
        "calibrated on that chip: the intervals come from what strategies gained elsewhere."
    )


def from_cases(workspace: Path, folder: Path) -> None:
    """Questions about devices whose own rows are withheld."""
    from recommender.workspace.workspace import Workspace
    from tunegraph.places import Places

    cache = Places.resolve(workspace, os.environ).cache
    with tempfile.TemporaryDirectory(prefix="tunegraph-demo-") as place:
        kept = Path(place) / "cases.jsonl"
        say(f"Ingesting {folder}, but for two devices")
        items = withhold(folder, kept)
        print(tunegraph("--workspace", str(workspace), "ingest", str(kept), "--keep-going"))
    with Workspace.open(workspace, cache=cache) as opened:
        for item in items:
            known = truth(item.rows, is_layout if "MoE" in item.title else is_convolution)
            say(f"Asking for {item.title} on {item.device}")
            if known:
                ask(opened, item, known)


def main() -> None:
    """Read the options, do what the module says, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=RAW)
    parser.add_argument("--workspace", type=Path, required=True)
    parser.add_argument("--cases", type=Path, help="folder of case JSONL files")
    options = parser.parse_args()
    if options.cases and not options.cases.is_dir():
        parser.error(f"{options.cases} is not a folder")
    shutil.rmtree(options.workspace, ignore_errors=True)
    shipped(options.workspace)
    if options.cases:
        from_cases(options.workspace, options.cases)


if __name__ == "__main__":
    main()
