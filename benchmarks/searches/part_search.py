"""A model tuned by parts beside a plain search of the whole.

``python -m benchmarks.searches.part_search --cases DIR [--quick]`` makes wholes of the exhaustively timed kernel spaces
(``kerneltuner_*``) of the folder (``part_worlds.py``) and searches each by parts and at once (``joint``).

Figures are those of ``warm_start.py``: evaluations to within 5 % (geometric mean over spaces of the median run, a miss
counts 100), share of runs within 5 % by 10 and 20, score; ``regret_at_20`` is the mean natural logarithm of the best
so far over the optimum. The last line is JSON.
"""

import math
import time
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.protocols.processes import one_thread
from benchmarks.searches.kernel_searches import needed
from benchmarks.searches.warm_start import figures
from benchmarks.worlds.kernel_spaces import CAP, OBJECTIVES, load, share_values
from benchmarks.worlds.part_worlds import VARIANTS, worlds
from benchmarks.worlds.shipped import ShippedKnowledge
from kg.nouns.values import Settings
from recommender.search.engine.search import Search

REGRETS = (10, 20, 50)
WAYS = ("parts", "joint")


def _parted(world: Any, way: str, seed: int) -> list[tuple[Settings, float]]:
    """Configurations and costs in order, of a search by parts or of the whole at once."""
    parts = world.parts if way == "parts" else ()
    search = Search(space=world.space, objectives=OBJECTIVES, seed=seed, parts=parts)
    found: list[tuple[Settings, float]] = []
    while len(found) < CAP and not (found and world.enough([cost for _, cost in found])):
        asked = search.ask()[0]
        told = world.evaluation(asked.configuration)
        search.tell(told, asked.number)
        found.append((asked.configuration, float(told.values[0] or 0.0) if told.ok else math.inf))
    return found


def by_parts(made: list[Any], seeds: range, report: dict[str, Any]) -> None:
    """Every way, by variant."""
    for variant in dict.fromkeys(world.task for world in made):
        group = [world for world in made if world.task == variant]
        runs: dict[str, dict[int, list[Any]]] = {way: {} for way in WAYS}
        spent = dict.fromkeys(WAYS, 0.0)
        for k, world in enumerate(group):
            for way in WAYS:
                begun = time.process_time()
                runs[way][k] = [_parted(world, way, seed) for seed in seeds]
                spent[way] += time.process_time() - begun
            shown = "  ".join(
                f"{way} {np.median([needed(world, log) for log in runs[way][k]]):g}" for way in WAYS
            )
            print(f"    {world.kernel} / {world.device}, {variant}  to 5 %: {shown}", flush=True)
        for way in WAYS:
            row = figures(runs[way], group, range(len(group)), runs["joint"]) or {}
            count = sum(len(log) for logs in runs[way].values() for log in logs)
            report[f"{way}_{variant}"] = {
                **row,
                **{f"regret_at_{t}": _regret(group, runs[way], t) for t in REGRETS},
                "cpu_ms_per_evaluation": round(spent[way] * 1e3 / count, 1),
            }


def _regret(group: list[Any], runs: dict[int, list[Any]], t: int) -> float:
    found = [
        np.log(min([group[k].sorted[-1], *(c for _, c in log[:t])]) / group[k].best)
        for k, logs in runs.items()
        for log in logs
    ]
    return round(float(np.mean(found)), 3)


def main() -> None:
    one_thread()
    arguments = harness.read(
        __doc__,
        harness.place("--cases", "--known"),
        harness.option("--seeds", type=int, default=0, help="5; with --quick 2"),
        quick="the spaces of one device, two seeds",
    )
    shipped = ShippedKnowledge.load()
    seeds = arguments.seed_range(arguments.seeds or (2 if arguments.quick else 5))
    report: dict[str, Any] = {}
    spaces = load(arguments.cases, shipped.names)
    share_values(spaces)
    devices = list(dict.fromkeys(s.device for s in spaces))[:1]
    by_parts(
        worlds([s for s in spaces if not arguments.quick or s.device in devices], VARIANTS), seeds, report
    )
    for way in WAYS:
        report[f"{way}_evaluations_to_5"] = (report.get(f"{way}_apart") or {}).get("evals_to_5_geomean")
    report["seeds"] = len(seeds)
    arguments.last_line(report)


if __name__ == "__main__":
    main()
