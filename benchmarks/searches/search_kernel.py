"""Searches of the shipped sweep of the matrix product: warm, by the estimate of its search file, cold and random.

    python -m benchmarks.searches.search_kernel [--known data/cases/blocked_matmul.jsonl.gz] [--seeds 5] [--quick]

Every configuration of every shape was measured once (mean of five), so a search looks its numbers up; within 5 %
of the best means within 5 % of that table's least mean, noise included. Figures: median evaluations to 5 % (a
miss counts as the cap) and share of runs that reached it by 10 and 20. ``warm`` knows the two other shapes,
``estimate`` the arithmetic of ``data/spaces/matmul.yaml`` alone. The last line is JSON.
"""

from __future__ import annotations

import gzip
import json
import statistics
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.protocols.processes import ROOT

CAP = 40


def evaluations_to(order: list[float], goal: float) -> int:
    """Evaluations until a goal; the cap if it was missed."""
    return next((place for place, value in enumerate(order, 1) if value <= goal), CAP + 1)


def main() -> None:
    options = harness.read(
        __doc__,
        harness.place("--known", default=ROOT / "data" / "cases" / "blocked_matmul.jsonl.gz"),
        harness.option("--seeds", type=int, default=5),
        quick="one seed",
    )
    from kg.nouns.entities import Better, Objective
    from kg.nouns.values import Settings
    from recommender.search.engine.search import Search
    from recommender.search.evaluations import Evaluation, SourceTable
    from recommender.search.run.estimate import CostEstimate
    from recommender.search.run.task_file import read_task_file
    from recommender.space.space_file import read_space

    content, _ = read_task_file(str(ROOT / "data" / "spaces" / "matmul.yaml"))
    space = read_space({key: content[key] for key in ("parameters", "constraints")})
    default = Settings(content["default"])  # type: ignore[arg-type]  # a mapping
    objective = Objective(metric="kernel_time", better=Better.LOWER, unit="s")
    tables: dict[str, dict[Settings, float]] = {}
    with gzip.open(options.known, "rt", encoding="utf-8") as stream:
        for line in stream:
            row = json.loads(line)
            shape = "x".join(str(row["task"]["shape"][name]) for name in "MNK")
            tables.setdefault(shape, {})[Settings(row["config"])] = row["outcome"]["value"]
    counts: dict[str, list[int]] = {kind: [] for kind in ("warm", "estimate", "cold", "random")}
    held = options.draw("shape", tables)
    for shape, table in ((shape, tables[shape]) for shape in sorted(held)):
        goal = 1.05 * min(table.values())
        sources = [
            SourceTable(
                name=name, similarity=0.7, configurations=list(other), costs=np.array(list(other.values()))
            )
            for name, other in tables.items()
            if name != shape
        ]
        sizes = dict(zip("MNK", map(float, shape.split("x")), strict=True))
        loops = CostEstimate.parse(str(content["estimate"]), space, sizes)
        estimated = [loops.source(space, np.random.default_rng(0))]
        known = {"warm": sources, "estimate": estimated, "cold": []}
        for seed in options.seed_range(1 if options.quick else options.seeds):
            for kind, given in known.items():
                search = Search(
                    space=space, objectives=(objective,), sources=given, default=default, seed=seed
                )
                seen: list[float] = []
                while len(seen) < CAP and (not seen or min(seen) > goal):
                    [asked] = search.ask(1)
                    seen.append(table[asked.configuration])
                    search.tell(
                        Evaluation(configuration=asked.configuration, values=(seen[-1],)), asked.number
                    )
                counts[kind].append(evaluations_to(seen, goal))
            drawn = np.random.default_rng(seed).permutation(list(table.values()))[:CAP]
            counts["random"].append(evaluations_to(drawn.tolist(), goal))
    figures: dict[str, Any] = {"shapes": len(held), "runs": len(counts["warm"]), "cap": CAP}
    for kind, found in counts.items():
        figures[kind] = {
            "evals_to_5_median": statistics.median(found),
            "hit5_at_10": round(sum(count <= 10 for count in found) / len(found), 3),
            "hit5_at_20": round(sum(count <= 20 for count in found) / len(found), 3),
        }
        print(f"{kind:9}{figures[kind]}")
    options.last_line(figures, n=len(counts["warm"]))


if __name__ == "__main__":
    main()
