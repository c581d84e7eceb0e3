"""A search in stages and a model tuned by parts, each beside our plain search of the whole.

``python -m benchmarks.searches.staged_search --cases DIR [--quick]`` searches

1. the exhaustively timed kernel spaces (``kerneltuner_*``) of the folder, cold and from the other devices' 200-evaluation
   searches, by explore, exploit, refine with several rules for when a stage ends (``stages.py``);
2. the spaces of the cost model, the same way, cold and from the other space's search;
3. the kernel spaces with noise, where repeats are worth something: the true cost of what is chosen after 30
   evaluations, all repeats counted, by plain search, plain search that measures its best three again, and thirds with
   every other refinement a repeat;
4. models of parts (``part_worlds.py``): kernels of one device as parts of a whole, by parts (ours) and the whole at
   once (``joint``);
5. the cost model's training steps as models of parts.

Figures are those of ``warm_start.py``: evaluations to within 5 % (geometric mean over spaces of the median run, a miss
counts 100), share of runs within 5 % by 10 and 20, score; ``regret_at_20`` is the mean natural logarithm of the best
so far over the optimum. The last line is JSON.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.protocols.processes import one_thread
from benchmarks.searches.kernel_searches import run, table
from benchmarks.searches.staged_kernels import noisy, searches
from benchmarks.searches.stages import RULES
from benchmarks.searches.warm_start import LOG, SIMILARITY, figures
from benchmarks.worlds.kernel_spaces import CAP, OBJECTIVES, Space, load, share_values
from benchmarks.worlds.model_spaces import ModelSpace
from benchmarks.worlds.part_worlds import VARIANTS, worlds
from benchmarks.worlds.shipped import ShippedKnowledge
from kg.nouns.values import Settings
from recommender.search.engine.search import Search
from recommender.search.run.task_file import read_task_file, shipped_names

NOISE = (0.03, 0.1)
"""Standard deviations of a measurement, log cost: of a quiet machine, and of a busy one."""
REGRETS = (10, 20, 50)
WAYS = ("parts", "joint")
WARM = 0.8
"""How far one space of the cost model is trusted by the other, as devices of one vendor; a choice."""


class Logs:
    """Cold searches that others start from, seed for seed."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int], list[Any]] = {}

    def of(self, space: Space, seed: int) -> list[Any]:
        key = (id(space), seed)
        if key not in self._kept:
            search = Search(space=space.space, objectives=OBJECTIVES, seed=seed)
            self._kept[key] = run(space, search, LOG, whole=True)
        return self._kept[key]


def staged(
    spaces: Sequence[Space],
    similarity: Callable[[Space, Space], float],
    seeds: range,
    report: dict[str, Any],
    prefix: str,
) -> None:
    """Sections 1 and 2: every rule, cold and warm."""
    logs = Logs()

    def warm(space: Space, seed: int) -> list[Any]:
        others = [s for s in spaces if s.task == space.task and s is not space]
        return [table(other, logs.of(other, seed), similarity(space, other)) for other in others]

    print(f"{prefix}cold:")
    cold = searches(spaces, lambda *_: [], seeds, list(RULES))
    print(f"{prefix}warm:")
    warmed = searches(spaces, warm, seeds, list(RULES))
    for start, runs in (("", cold), ("warm_", warmed)):
        for name, found in runs.items():
            row = figures(found, spaces, range(len(spaces)), runs["plain"])
            report[f"{prefix}{start}{name}"] = row


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


def by_parts(made: list[Any], seeds: range, report: dict[str, Any], prefix: str) -> None:
    """Sections 4 and 5: every way, by variant."""
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
                f"{way} {np.median([_to(world, log, 0.05) for log in runs[way][k]]):g}" for way in WAYS
            )
            print(f"    {world.kernel} / {world.device}, {variant}  to 5 %: {shown}", flush=True)
        for way in WAYS:
            row = figures(runs[way], group, range(len(group)), runs["joint"]) or {}
            count = sum(len(log) for logs in runs[way].values() for log in logs)
            report[f"{prefix}{way}_{variant}"] = {
                **row,
                **{f"regret_at_{t}": _regret(group, runs[way], t) for t in REGRETS},
                "cpu_ms_per_evaluation": round(spent[way] * 1e3 / count, 1),
            }


def _to(world: Space, log: list[Any], share: float) -> int:
    return min(world.within([c for _, c in log], share), CAP)


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
        harness.option("--only", nargs="+", choices=("kernels", "model", "noise", "parts", "model_parts")),
        quick="few spaces, two seeds",
    )
    shipped = ShippedKnowledge.load()
    wanted = arguments.only or ["kernels", "model", "noise", "parts", "model_parts"]
    seeds = arguments.seed_range(arguments.seeds or (2 if arguments.quick else 5))
    report: dict[str, Any] = {}
    spaces = load(arguments.cases, shipped.names)
    share_values(spaces)
    paired = [s for s in spaces if any(o.task == s.task and o.device != s.device for o in spaces)]
    devices = list(dict.fromkeys(s.device for s in spaces))[:1]
    if arguments.quick:
        paired = [s for s in paired if s.task == paired[0].task]
    if "kernels" in wanted:
        staged(
            paired, lambda a, b: SIMILARITY[shipped.hardware.distance(a.device, b.device)], seeds, report, ""
        )
    if {"model", "model_parts"} & set(wanted):
        files = [name for name in shipped_names() if read_task_file(name).raw.get("cost_model")]
        modelled = [ModelSpace(file, shipped) for file in (files[:1] if arguments.quick else files)]
    if "model" in wanted:
        staged(modelled, lambda *_: WARM, seeds, report, "model_")
    if "noise" in wanted:
        for noise in NOISE:
            report[f"noise_{round(100 * noise)}_percent_regret"] = noisy(paired, seeds, noise)
    if "parts" in wanted:
        made = worlds([s for s in spaces if not arguments.quick or s.device in devices], VARIANTS)
        by_parts(made, seeds, report, "")
    if "model_parts" in wanted:
        by_parts(modelled, seeds, report, "model_")
    _print(report)
    for key, name in (
        ("staged", "progress"),
        ("plain", "plain"),
        ("parts", "parts_apart"),
        ("joint", "joint_apart"),
    ):
        report[f"{key}_evaluations_to_5"] = (report.get(name) or {}).get("evals_to_5_geomean")
    report["seeds"] = len(seeds)
    arguments.last_line(report)


def _print(report: dict[str, Any]) -> None:
    first = ("evals_to_5_geomean", "hit5_at_10", "hit5_at_20", "hit10_at_20", "score_mean", "score_worst")
    columns = (*first, "harmed", *(f"regret_at_{t}" for t in REGRETS), "cpu_ms_per_evaluation")
    print(f"\n{'':<28}" + "".join(f"{c[:18]:>20}" for c in columns))
    for name, row in report.items():
        if isinstance(row, dict) and "score_mean" in row:
            print(f"{name:<28}" + "".join(f"{row.get(c, ''):>20}" for c in columns))
        else:
            print(f"{name:<28}  {row}")


if __name__ == "__main__":
    main()
