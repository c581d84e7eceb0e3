"""Runs the benchmarks, keeps what each found, and writes the tables of docs/figures.md.

    python -m tools.figures DATA [--seed N|week] [--all] [--only TEXT ...] [--limit SECONDS]
    python -m tools.figures DATA --check [--seed N]

``benchmarks/figures.yaml`` says what is run, which figures count and what their goals are. Each run adds a
line to ``benchmarks/figures.jsonl`` (a benchmark, mode and seed has one line; a run that failed or took too
long says so), and the tables are written anew from all of them, between two marks of the page: the figure of
**all groups** (by ``--all``; where it can be, what is fitted is fitted again without each asked group) and
that of the **last draw** by a seed.

``--check`` runs a kept run again that a seed draws among those within ``--limit`` CPU seconds, and ends with
exit code 1 where a figure differs by more than a hundredth of itself.
"""

import json
import math
import operator
import random
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from benchmarks.harness import Run, last_line, option, place, read, refuse
from benchmarks.protocols.processes import ROOT

PAGE = ROOT / "docs" / "figures.md"
RUNS = ROOT / "benchmarks" / "figures.jsonl"
TABLE = ROOT / "benchmarks" / "figures.yaml"
BEGIN, END = "<!-- written by make figures -->", "<!-- until here -->"
MEETS = {">=": operator.ge, "<=": operator.le}
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
    """The kept record of a run: its seed, numbers, and figures by kind."""
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


def lines(name: str, bench: Mapping[str, Any], rows: Sequence[Row]) -> Iterator[str]:
    """The rows of a benchmark in the published table: its name, then its figures; none if it was not run."""
    mine = [row for row in rows if row["benchmark"] == name and "figures" in row]
    every = next((row for row in reversed(mine) if row["mode"] == "all"), None)
    draw = next((row for row in reversed(mine) if row["mode"] == "rotating"), None)
    if not mine:
        return
    counts = "|".join(f"n {row['n']:,}" if row and row["n"] else "" for row in (every, draw))
    yield f"|**{name}** `{bench['run'].split()[0].removeprefix('benchmarks.')}`||{counts}|"
    for label, where in bench["figures"].items():
        kept = every["figures"] if every else {}
        told = [kept.get(kind, {}).get(label) for kind in ("nested", "development")]
        whole = next((value for value in told if value is not None), None)
        drawn = draw["figures"]["rotating"].get(label) if draw else None
        if whole is None and drawn is None:
            continue
        goal = where.get("goal", "")
        cells = (_judged(whole, goal), _judged(drawn, goal if whole is None else ""))
        yield f"|{label}|{goal.replace(' ', '')}|{'|'.join(cells)}|"


def _judged(value: float | None, goal: str) -> str:
    """A value, and whether it misses its goal."""
    if value is None:
        return ""
    sign, _, number = goal.partition(" ")
    return _shown(value) + (" **missed**" if goal and not MEETS[sign](value, float(number)) else "")


def _shown(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def write(page: Path, sections: Mapping[str, Mapping[str, Any]], rows: Sequence[Row]) -> None:
    """Write the tables into a page, one a section, between its marks."""
    text = page.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    tables, idle = [], []
    for title, table in sections.items():
        written = [list(lines(name, bench, rows)) for name, bench in table.items()]
        idle += [name for name, found in zip(table, written, strict=True) if not found]
        if body := "\n".join(line for found in written for line in found):
            tables.append(f"## {title}\n\n|figure|goal|all groups|last draw|\n|---|---|---|---|\n{body}\n")
    if idle:
        tables.append(f"Not run yet: {'; '.join(idle)}.\n")
    joined = "\n".join(tables)
    goals = sum(
        "goal" in where
        for table in sections.values()
        for b in table.values()
        for where in b["figures"].values()
    )
    counts = f"{joined.count('**missed**')} of {goals} goals are missed."
    page.write_text(f"{head}{BEGIN}\n{counts}\n\n{joined}{END}{rest.partition(END)[2]}", encoding="utf-8")


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
    cheap = [row for row in kept_runs(RUNS) if "figures" in row and (row["cpu_s"] or math.inf) <= given.limit]
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
    sections: dict[str, Any] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    table = {name: bench for part in sections.values() for name, bench in part.items()}
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
    write(PAGE, sections, rows)
    last_line({"runs": len(rows), "failed": sum("failed" in row for row in rows)})


if __name__ == "__main__":
    main()
