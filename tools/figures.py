"""Runs the benchmarks, keeps what each found, and publishes development, nested and rotating figures.

    python -m tools.figures DATA [--seed N|week] [--all] [--only TEXT ...] [--limit SECONDS]
    python -m tools.figures DATA --check [--seed N]

``benchmarks/figures.yaml`` says what is run and which figures count. Each run adds a line to
``benchmarks/figures.jsonl`` (a benchmark, mode and seed has one line; a run that failed or took too long
says so), and docs/figures-rotating.csv is written anew from all of them: **development** with the
constants that ship, **nested** with what is fitted fitted again without each asked group (both by ``--all``),
the **last** draw with its seed and number of questions, and the **mean** over all seeds.

``--check`` runs a kept run again that a seed draws among those within ``--limit`` CPU seconds, and ends with
exit code 1 where a figure differs by more than a hundredth of itself.
"""

from __future__ import annotations

import csv
import json
import math
import random
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import yaml

from benchmarks.harness import Run, last_line, mean, option, place, read, refuse
from benchmarks.protocols.processes import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

PAGE = ROOT / "docs" / "figures-rotating.csv"
RUNS = ROOT / "benchmarks" / "figures.jsonl"
TABLE = ROOT / "benchmarks" / "figures.yaml"
HEAD = ["figure", "development", "nested", "last draw, mean of all"]
KINDS = {"d": "development", "n": "nested", "r": "rotating"}
NEAR = 0.01

Row = dict[str, Any]


def at(result: Mapping[str, Any], where: str) -> float | None:
    """The number at a place of a last line; None where there is none."""
    found: Any = result
    for key in where.split("/"):
        if isinstance(found, list):
            found = found[int(key)]
        else:
            found = found.get(key) if isinstance(found, dict) else None
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def row_of(
    name: str, figures: Mapping[str, Mapping[str, str]], result: Mapping[str, Any], is_all: bool
) -> Row:
    """What is kept of a run: its seed, numbers, and figures by kind."""
    kinds = ("d", "n") if is_all else ("r",)
    return {
        "benchmark": name,
        "mode": "all" if is_all else "rotating",
        "seed": result["seed"],
        "n": result["n"],
        "cpu_s": result["cpu_s"],
        "held_out": {
            kind: drawn if drawn == "each" else len(drawn) for kind, drawn in result["held_out"].items()
        },
        "figures": {
            KINDS[kind]: {label: at(result, where[kind]) for label, where in figures.items() if kind in where}
            for kind in kinds
        },
    }


def run(words: str, data: Path, seed: int | None, limit: float) -> Row:
    """The last line of a benchmark: with every group if no seed is given.

    Raises:
        ValueError: It failed or took too long; the reason is the message.
    """
    told = ["--all"] if seed is None else ["--seed", str(seed)]
    command = [sys.executable, "-m", *shlex.split(words.format(data=data)), *told]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired as late:
        raise ValueError(f"took more than {limit:.0f} s") from late
    if done.returncode:
        raise ValueError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    result: Row = json.loads(done.stdout.splitlines()[-1])
    return result


def kept_runs(path: Path) -> list[Row]:
    """The runs of a file, in order."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def keep(path: Path, row: Row) -> None:
    """Add a run; one of the same benchmark, mode and seed is replaced."""
    key = ("benchmark", "mode", "seed")
    others = [one for one in kept_runs(path) if any(one[name] != row[name] for name in key)]
    path.write_text("".join(json.dumps(one) + "\n" for one in [*others, row]), encoding="utf-8")


def _draw(row: Row) -> str:
    """The seed of a run and its number of questions, where it counts any."""
    return f"seed {row['seed']}" + ("" if row["n"] is None else f", n {row['n']:,}")


def lines(table: Mapping[str, Any], rows: Sequence[Row]) -> Iterator[list[str]]:
    """The rows of the published table: a benchmark with its page and last draw, then its figures."""
    for name, bench in table.items():
        mine = [row for row in rows if row["benchmark"] == name and "figures" in row]
        every = next((row for row in reversed(mine) if row["mode"] == "all"), None)
        rotating = sorted((row for row in mine if row["mode"] == "rotating"), key=lambda row: row["seed"])
        if not mine and "page" not in bench:
            continue
        page = f" ({bench['page']})" if "page" in bench else ""
        drawn = f"{_draw(rotating[-1])}, draws {len(rotating)}" if rotating else "-"
        yield [f"{name}{page}", "", "", drawn]
        for label in bench["figures"]:
            values = [row["figures"]["rotating"].get(label) for row in rotating]
            known = [value for value in values if value is not None]
            fewer = f" ({len(known)})" if len(known) < len(values) else ""
            of_many = f", {_shown(mean(known, 6))}{fewer}" if len(known) > 1 else ""
            cells = [_whole(bench, every, kind, label) for kind in ("development", "nested")]
            cells.append((_shown(values[-1]) if values else "-") + of_many)
            if set(cells) != {"-"}:
                yield [f"- {label}", *cells]


def failures(table: Mapping[str, Any], rows: Sequence[Row]) -> Iterator[list[str]]:
    """Benchmarks whose draws no run has figures of, and why."""
    for name in table:
        mine = [row for row in rows if row["benchmark"] == name and row["mode"] == "rotating"]
        if not any("figures" in row for row in mine):
            yield [name, "", "", mine[-1]["failed"] if mine else "not run yet"]


def _whole(bench: Mapping[str, Any], every: Row | None, kind: str, label: str) -> str:
    """A figure of every group: of the kept run, or as a page of docs has it from an earlier one."""
    if every is not None:
        return _shown(every["figures"][kind].get(label))
    return str(bench.get(kind, {}).get(label, "-"))


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def write(page: Path, table: Mapping[str, Any], rows: Sequence[Row]) -> None:
    """Write the table, and behind it the list of failures."""
    with page.open("w", encoding="utf-8", newline="") as stream:
        found = [HEAD, *lines(table, rows), *failures(table, rows)]
        csv.writer(stream, lineterminator="\n").writerows(found)


def differences(row: Row, again: Row) -> list[str]:
    """Figures of a run that another run of the same seed does not give."""
    wrong = []
    for kind, figures in row["figures"].items():
        for label, told in figures.items():
            value = again["figures"][kind].get(label)
            same = value == told if told is None or value is None else math.isclose(value, told, rel_tol=NEAR)
            if not same:
                wrong.append(f"{row['benchmark']}, {label}, {kind}: {told} kept, {value} recomputed")
    return wrong


def check(table: Mapping[str, Any], given: Run) -> None:
    """Run a drawn kept run again; exit code 1 where it differs."""
    cheap = [row for row in kept_runs(RUNS) if "figures" in row and row["cpu_s"] <= given.limit]
    if not cheap:
        refuse(f"{RUNS.name} keeps no run within {given.limit:g} CPU seconds")
    row = random.Random(given.seed).choice(cheap)
    bench, is_all = table[row["benchmark"]], row["mode"] == "all"
    result = run(bench["run"], given.data.resolve(), None if is_all else row["seed"], 20 * given.limit)
    wrong = differences(row, row_of(row["benchmark"], bench["figures"], result, is_all=is_all))
    sys.stderr.writelines(f"{line}\n" for line in wrong)
    last_line({"benchmark": row["benchmark"], "mode": row["mode"], "seed": row["seed"], "same": not wrong})
    if wrong:
        raise SystemExit(1)


def main() -> None:
    """Read the options; run and publish, or check."""
    given = read(
        __doc__,
        place("data", help="folder that holds cases, recipes, profiles and the other data"),
        option("--only", nargs="+", default=[], help="benchmarks whose name or module holds one of these"),
        option("--limit", type=float, default=600.0, help="seconds that a benchmark may take"),
        option("--check", action="store_true", help="run a drawn kept run again, and compare"),
        option("--no-run", action="store_true", help="write the page alone"),
    )
    table: dict[str, Any] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    if given.check:
        check(table, given)
        return
    for name, bench in table.items() if not given.no_run else ():
        about = {"benchmark": name, "mode": "all" if given.all else "rotating", "seed": given.seed}
        if given.only and not any(text in f"{name} {bench['run']}" for text in given.only):
            continue
        try:
            result = run(bench["run"], given.data.resolve(), None if given.all else given.seed, given.limit)
            row = row_of(name, bench["figures"], result, is_all=given.all)
        except ValueError as fault:
            row = about | {"failed": str(fault)}
        keep(RUNS, row)
        print(json.dumps(row), flush=True)
    rows = kept_runs(RUNS)
    write(PAGE, table, rows)
    last_line({"runs": len(rows), "failed": sum("failed" in row for row in rows)})


if __name__ == "__main__":
    main()
