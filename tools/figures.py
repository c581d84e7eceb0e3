"""Recomputes a row of published figures that is drawn at random, and compares it with the page.

``python -m tools.figures CASES`` draws a row of the nested table of docs/figures-by-class.md, runs
the command that the page names, and ends with exit code 1 where a cell differs by more than its last digit.
``--seed`` draws the same row again; ``--from FILE`` takes the last line of an earlier run; ``--write`` puts
all rows of that run into the page instead.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import last_line
from benchmarks.protocols.folds import CLASSES
from benchmarks.protocols.processes import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PAGE = ROOT / "docs" / "figures-by-class.md"
HEAD = (
    "| problems | class | n (devices) | ours k1 | nearest | robust | popular | random"
    " | ours k3 | nearest | k1 above nearest | log regret above nearest |"
)
METHODS = ("nearest", "robust", "popular", "random")
COMMAND = ("benchmarks.answers.unseen", "--quick", "--jobs", "1")


def rows(figures: Mapping[str, Any]) -> Iterator[str]:
    """The rows of the table, one a collection and class that was asked, with standard errors over devices."""
    baselines = figures["baselines"]
    for name, by_class in figures.items():
        if name not in baselines["nearest"]:
            continue  # not a collection
        for part in CLASSES:
            ours = by_class[part]
            if ours is None:
                continue
            above = figures["above_copying"][name][part]
            others = {method: baselines[method][name][part] for method in baselines}
            shares = [f"{others[method]['k1']:.2f}" for method in METHODS]
            cells = [
                name,
                part.replace("_", " "),
                f"{ours['n']:,} ({ours['devices']})",
                _with_error(ours["k1"], ours["se"]["k1"], 2),
                *shares,
                f"{ours['k3']:.2f}",
                f"{others['nearest']['k3']:.2f}",
                _with_error(above["k1"], above["k1_se"], 2),
                _with_error(above["log_regret_k1"], above["log_regret_k1_se"], 3),
            ]
            yield "| " + " | ".join(cells) + " |"


def _with_error(value: float | None, error: float | None, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value:.{digits}f}" + ("" if error is None else f" +- {error:.{digits}f}")


def published(page: str) -> list[str]:
    """The rows that a page holds under the head of the table.

    Raises:
        ValueError: It has no such table.
    """
    lines = page.splitlines()
    if HEAD not in lines:
        raise ValueError(f"{PAGE.name}: no table that begins with {HEAD[:40]}...")
    start = lines.index(HEAD) + 2
    end = next((at for at in range(start, len(lines)) if not lines[at].startswith("|")), len(lines))
    return lines[start:end]


def differences(told: str, again: str) -> list[str]:
    """Cells of two rows that differ by more than one of the last digit: "column: page, recomputed"."""
    names = [cell.strip() for cell in HEAD.strip("|").split("|")]
    pairs = zip(names, told.strip("|").split("|"), again.strip("|").split("|"), strict=True)
    return [
        f"{name}: {one.strip()}, recomputed {other.strip()}"
        for name, one, other in pairs
        if not _same(one, other)
    ]


def _same(one: str, other: str) -> bool:
    first, second = one.split(), other.split()
    if len(first) != len(second):
        return False
    for left, right in zip(first, second, strict=True):
        try:
            digits = len(left.partition(".")[2])
            if abs(float(left) - float(right)) > 1.01 * 10**-digits:
                return False
        except ValueError:
            if left != right:
                return False
    return True


def run(cases: Path) -> dict[str, Any]:
    """Run the command of the page and return its figures.

    Raises:
        ValueError: It failed; its last words are in the message.
    """
    command = [sys.executable, "-m", *COMMAND, "--known", str(cases), "--asked", str(cases)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{' '.join(command)}: {done.stderr.strip().splitlines()[-1]}")
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    """Read the options, and compare or write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", type=Path, help="folder of cases")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--from", dest="earlier", type=Path, help="output of an earlier run")
    parser.add_argument("--write", action="store_true", help="write all rows into the page")
    arguments = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    try:
        told = published(page)
        drawn = random.Random(arguments.seed).choice(told) if told else ""
        earlier = arguments.earlier.read_text(encoding="utf-8").splitlines() if arguments.earlier else []
        figures = json.loads(earlier[-1]) if earlier else run(arguments.cases)
    except ValueError as error:
        parser.exit(2, f"{error}\n")
    made = list(rows(figures))
    if arguments.write:
        PAGE.write_text(page.replace("\n".join(told), "\n".join(made)), encoding="utf-8")
        last_line({"written": len(made)})
        return
    key = drawn.split("|")[1:3]
    again = next((row for row in made if row.split("|")[1:3] == key), None)
    wrong = ["the row is not there any more"] if again is None else differences(drawn, again)
    for line in wrong:
        print(f"{'/'.join(cell.strip() for cell in key)}: {line}", file=sys.stderr)
    last_line({"row": drawn, "constants": figures["constants"], "same": not wrong})
    if wrong:
        parser.exit(1)


if __name__ == "__main__":
    main()
