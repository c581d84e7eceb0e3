"""Measure how far expected gains are off, by how far the hardware is, and how well that carries to a device.

``python benchmarks/fit_reliability.py CASES`` asks as ``unseen.py`` does, compares the gain expected of the
first recommendation over the median configuration with the true one, and prints the 5 and 95 % quantiles of
the difference by distance class, each corpus and device weighing the same, with the coverage of such an
interval on each device when it is fitted on the others. ``--write`` puts them into the shipped figures.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import unseen
from world import ROOT, knowledge, load

from kg.hardware_tree import Distance

FIGURES = ROOT / "data" / "retrieval" / "reliability.json"
SHARE = {
    "*": 1.0,
    "aiconfigurator_attention_backend": 0.15,
    "aiconfigurator_gemm_backend": 0.15,
    "aiconfigurator_moe_parallel": 0.15,
}
NORMAL_90 = 1.645


def errors(fold: unseen.Fold) -> list[tuple[int, str, str, float, float]]:
    """Distance class, corpus, device, true minus expected log gain, and spread, of each question."""
    from recommender.ranking.case_choice import _reference

    found: list[tuple[int, str, str, float, float]] = []

    def watch(problem, ranking, truth) -> None:
        reference = _reference(problem, ranking)
        if ranking.distance is None or reference is None or not ranking.order:
            return
        first = ranking.order[0]
        true = truth.get(ranking.configuration(first))
        if true is not None:
            gain = reference[0] - float(ranking.scores.expected[first])
            error = float(np.median(list(truth.values()))) - true - gain
            spread = float(ranking.scores.spread[first])
            found.append((int(ranking.distance), fold.name, problem.hardware.name, error, spread))

    unseen.run(fold, watch)
    return found


def quantiles(rows: list[tuple]) -> tuple[float, float]:
    """5 and 95 % quantiles of the errors, each corpus and device weighing the same."""
    number = Counter((row[1], row[2]) for row in rows)
    ordered = sorted(rows, key=lambda row: row[3])
    weights = np.cumsum([1 / number[row[1], row[2]] for row in ordered]) / len(number)
    low = ordered[int(np.searchsorted(weights, 0.05))][3]
    return low, ordered[min(int(np.searchsorted(weights, 0.95)), len(ordered) - 1)][3]


def held_out(rows: list[tuple]) -> float | None:
    """Coverage on each device of the interval fitted on the others."""
    hits = []
    for device in sorted({row[2] for row in rows}):
        others = [row for row in rows if row[2] != device]
        if len(others) >= 20:
            low, high = quantiles(others)
            for row in rows:
                if row[2] == device:
                    wide = NORMAL_90 * row[4]
                    hits.append(min(low, -wide) <= row[3] <= max(high, wide))
    return float(np.mean(hits)) if hits else None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", type=Path)
    parser.add_argument("--asked", type=int, default=40, help="problems asked in each fold at most")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        world = load(arguments.cases, Path(place) / "known", knowledge(), SHARE)
        unseen._WORLDS = (world, world, False)
        rng = random.Random(0)
        made = [
            dataclasses.replace(
                fold, asked=tuple(rng.sample(fold.asked, min(arguments.asked, len(fold.asked))))
            )
            for fold in unseen.folds(world, world, False)
        ]
        by_class = defaultdict(list)
        with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
            for rows in pool.map(errors, made):
                for row in rows:
                    by_class[row[0]].append(row)
    content = json.loads(FIGURES.read_text(encoding="utf-8"))
    told = {}
    for number, rows in sorted(by_class.items()):
        name = Distance(number).name.lower()
        low, high = quantiles(rows)
        devices = len({row[2] for row in rows})
        fitted = {"low": round(low, 3), "high": round(high, 3), "checked": len(rows), "devices": devices}
        content["classes"][name].update(fitted)
        told[name] = {**fitted, "held_out_coverage": held_out(rows)}
        print(name, told[name], file=sys.stderr)
    if arguments.write:
        FIGURES.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(told))


if __name__ == "__main__":
    main()
