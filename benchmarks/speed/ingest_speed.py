"""Ingest: rows a second, a second ingest of the same, memory against file size.

    python -m benchmarks.speed.ingest_speed --known ../shared/data/cases [--quick]

Everything goes through the command line into new workspaces. CPU time is user + system of the process; on a
shared machine compare that, not wall time. What is learned from the rows afterwards is left out. Memory is
the peak of the process while it takes in one generated JSONL file of 20,000 problems (2 GB; with ``--quick``
2,000 problems, 40 MB), beside that of a file a tenth as long with the same problems. The last line is JSON.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.speed.scale import run, subset

PROBLEMS, ROWS = 20_000, 1_000_000
LINE_BYTES = 2_000
QUICK = 50
"""How many times less is generated with ``--quick``; a tenth of the problems."""


def line(problem: int, block: int) -> str:
    """One case; the log is a field that nothing reads, as long as logs are."""
    record = {
        "task": {"kind": "kernel", "op": "generated", "shape": {"M": 16 + problem, "N": 4096}},
        "hardware": {"name": "NVIDIA A100-SXM4-80GB"},
        "config": {f"parameter_{number}": block * number for number in range(1, 9)},
        "outcome": {
            "metric": "kernel_time",
            "unit": "us",
            "value": 10 + problem / 7 + block / 3,
            "status": "ok",
        },
        "source": {"title": "generated"},
        "log": "",
    }
    text = json.dumps(record)
    return text[:-2] + "x" * (LINE_BYTES - len(text)) + '"}\n'


def generate(path: Path, problems: int, rows: int) -> int:
    """A file of cases, problem by problem; returns its length in bytes."""
    blocks = max(1, rows // problems)
    with path.open("w", encoding="utf-8") as stream:
        for problem in range(problems):
            stream.writelines(line(problem, block) for block in range(1, blocks + 1))
    return path.stat().st_size


def taken(workspace: Path, path: Path, cache: Path) -> dict[str, Any]:
    """What one ingest takes, and how many rows are there afterwards."""
    figures: dict[str, Any] = run(
        ["--workspace", str(workspace), "ingest", str(path), "--keep-going", "--no-learn", "--json"], cache
    )
    from recommender.workspace.workspace import Workspace

    with Workspace.open(workspace, cache=cache) as opened:
        counts = opened.trials.counts()
        return {**figures, "rows": counts.trials, "problems": counts.problems, "batch": opened.snapshot.batch}


def made(folder: Path, name: str, cache: Path) -> Path:
    """A new workspace of the shipped knowledge."""
    workspace = folder / name
    run(["--workspace", str(workspace), "kb", "stats"], cache)
    return workspace


def measure(known: Path, folder: Path, cache: Path, *, quick: bool) -> dict[str, Any]:
    """All figures."""
    if quick:
        known = subset(known, folder / "cases", 1000)
    workspace = made(folder, "workspace", cache)
    first, second = (taken(workspace, known, cache) for _ in range(2))
    figures = {
        "rows": first["rows"],
        "problems": first["problems"],
        "first_wall_s": first["wall_s"],
        "first_cpu_s": first["cpu_s"],
        "rows_per_s": first["rows"] / first["wall_s"],
        "rows_per_cpu_s": first["rows"] / first["cpu_s"],
        "peak_rss_mb": first["rss_bytes"] / 1e6,
        "second_wall_s": second["wall_s"],
        "second_cpu_s": second["cpu_s"],
        "second_ingest_factor": first["cpu_s"] / second["cpu_s"],
        "second_ingest_changes": sum(
            abs(first[name] - second[name]) for name in ("rows", "problems", "batch")
        ),
    }
    problems, rows = (PROBLEMS // 10, ROWS // QUICK) if quick else (PROBLEMS, ROWS)
    for name, number in (("tenth", rows // 10), ("whole", rows)):
        file = folder / f"{name}.jsonl"
        figures[f"{name}_file_mb"] = generate(file, problems, number) / 1e6
        found = taken(made(folder, name, cache), file, cache)
        figures[f"{name}_peak_rss_mb"] = found["rss_bytes"] / 1e6
        figures[f"{name}_wall_s"] = found["wall_s"]
        file.unlink()
    return figures


def main() -> None:
    options = harness.read(
        __doc__,
        harness.place("--known", help="folder of case JSONL files"),
        quick="the first 1,000 rows of each corpus, small files",
    )
    with tempfile.TemporaryDirectory(prefix="tunegraph-ingest-") as place:
        folder = Path(place)
        cache = Path(os.environ.get("TUNEGRAPH_CACHE") or folder / "cache")
        figures = measure(options.known, folder, cache, quick=options.quick)
    for name, value in figures.items():
        print(f"{name:24} {value:,.1f}")
    options.last_line(figures)


if __name__ == "__main__":
    main()
