"""Evaluations that a search needs when it starts from other devices' searches, beside what others need.

``python -m benchmarks.searches.warm_start --known DIR --asked DIR`` reads the exhaustively timed kernel spaces
(``kerneltuner_*``) of both folders. Each asked space is searched with the devices of the known folder that
ran the same kernel as its sources, itself left out. A source is known only through the 200 evaluations of
our own cold search on it, seed for seed. A seed draws devices: their spaces alone are asked, none of them is a source.
Two constants of the search were chosen with kernels left out and are not chosen again. Per space the median over seeds counts, over spaces the geometric
mean; a run that does not come within 5 % in 100 evaluations counts 100, and a failed run costs one.

``score`` is the performance score of the auto-tuning methodology over function evaluations: the mean over
t up to the 95 % cutoff of random search (at most 100) of (random(t) - best(t)) / (random(t) - optimum), in
the metric itself, with random search's expectation in closed form (Willemsen et al., A Methodology for
Comparing Auto-Tuning Optimization Algorithms, 2024). ``harmed`` counts spaces where the median run needs more
evaluations than the cold search beyond the spread of its seeds (three quarters of them need fewer).
A space has a twin if a source's whole table correlates with it above 0.9 (Spearman); only the report knows.
``--sources far`` is for a device nobody measured: twins and devices of its architecture are withheld.
``--sources other-vendor`` leaves those of other vendors, ``--sources one`` one source that is no twin, each in turn.

``best_first`` evaluates each source's best in random order, then searches cold. Optuna's TPE runs where it is installed. ``--external`` adds other
tools where they are installed: Optuna's TPE and GP, SMAC and Kernel Tuner's strategies in its simulation mode;
``kernel_tuner`` repeats the strategy that needed the fewest evaluations, chosen afterwards. They start cold and, with
``_warm`` after the name, from the sources' bests (SMAC only cold). What did not run is null, and stderr says why. The
last line is JSON.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.protocols.processes import one_thread
from benchmarks.searches import kernel_tools
from benchmarks.searches.kernel_searches import ColdSearches, at_random, bests, needed, run, table, warm
from benchmarks.worlds.kernel_spaces import CAP, OBJECTIVES, Space, alikeness, load, share_values
from benchmarks.worlds.shipped import ShippedKnowledge
from kg.triples.hardware_tree import Distance, HardwareTree
from recommender.search.engine.search import Search
from recommender.search.evaluations import SourceTable

LOG = 200
TWIN = 0.9
TOOL_SEEDS = 2
"""Seeds of other tools at most, because most of them are slow."""

SIMILARITY = {
    Distance.SAME_DEVICE: 1.0,
    Distance.SIBLING: 0.95,
    Distance.SAME_ARCHITECTURE: 0.9,
    Distance.SAME_VENDOR: 0.8,
    Distance.OTHER_VENDOR: 0.4,
}
"""Trust in a device before anything is measured, from its place in the hardware tree; a choice."""


NEAR = (Distance.SAME_DEVICE, Distance.SIBLING, Distance.SAME_ARCHITECTURE)
"""Distances that ``--sources far`` withholds."""


def chosen_sources(
    kind: str, space: Space, known: Sequence[Space], hardware: HardwareTree
) -> list[list[Space]]:
    """Sets of sources that a space is searched from; only ``one`` gives several.

    Args:
        kind: ``all``, ``far``, ``other-vendor`` or ``one``.
        space: What is searched.
        known: Spaces that may be its sources.
        hardware: Says how far devices are apart.
    """
    others = [s for s in known if s.task == space.task and s.device != space.device]
    if kind == "one":
        return [[s] for s in others if alikeness(space, s) <= TWIN]
    if kind != "all":
        apart = {s.device: hardware.distance(space.device, s.device) for s in others}
        if kind == "other-vendor":
            others = [s for s in others if apart[s.device] is Distance.OTHER_VENDOR]
        else:
            others = [s for s in others if apart[s.device] not in NEAR and alikeness(space, s) <= TWIN]
    return [others] if others else []


def adverse(kind: str, source: SourceTable, other: SourceTable | None, seed: int) -> SourceTable | None:
    """A source that misleads: its ranking reversed, shuffled, or another kernel's costs on its rows."""
    costs = np.array(source.costs)
    ran = np.flatnonzero(np.isfinite(costs))
    order = ran[np.argsort(costs[ran], kind="stable")]
    if kind == "reversed":
        costs[order] = costs[order][::-1]
    elif kind == "shuffled":
        costs[ran] = np.random.default_rng([seed, 9]).permutation(costs[ran])
    else:
        if other is None:
            return None
        foreign = other.costs[np.isfinite(other.costs)]
        costs[ran] = np.resize(foreign, len(ran))
    return SourceTable(
        name=source.name, similarity=source.similarity, configurations=source.configurations, costs=costs
    )


def figures(
    runs: dict[int, list[list[Any]]],
    spaces: Sequence[Space],
    kept: Iterable[int],
    cold: dict[int, list[list[Any]]],
) -> dict[str, Any] | None:
    """The figures of one method over the spaces ``kept``; None without any."""
    kept = [k for k in kept if k in runs]
    if not kept:
        return None
    medians, scores, hits, harmed, every = [], [], defaultdict(list), 0, []
    for k in kept:
        space = spaces[k]
        costs = [[c for _, c in log] for log in runs[k]]
        five = [needed(space, log) for log in runs[k]]
        medians.append(float(np.median(five)))
        every += five
        scores.append(float(np.mean([space.score(c) for c in costs])))
        for name, share, limit in (
            ("hit5_at_10", 0.05, 10),
            ("hit5_at_20", 0.05, 20),
            ("hit10_at_20", 0.1, 20),
        ):
            hits[name].append(np.mean([space.within(c, share) <= limit for c in costs]))
        before = [needed(space, log) for log in cold[k]]
        harmed += bool(np.median(five) > max(np.quantile(before, 0.75), np.median(before)))
    return {
        "evals_to_5_geomean": round(float(np.exp(np.mean(np.log(medians)))), 2),
        "evals_to_5_runs": round(float(np.exp(np.mean(np.log(every)))), 2),
        **{name: round(float(np.mean(values)), 3) for name, values in hits.items()},
        "score_mean": round(float(np.mean(scores)), 3),
        "score_worst": round(float(np.min(scores)), 3),
        "harmed": harmed,
        "spaces": len(kept),
    }


def timed(space: Space, tables: list[SourceTable], seed: int) -> tuple[float, float]:
    """CPU milliseconds a suggestion of a search of CAP evaluations, its start included; and of its start."""
    begun = time.process_time()
    search = Search(space=space.space, objectives=OBJECTIVES, sources=tables, seed=seed)
    started = time.process_time()
    run(space, search, CAP, whole=True)
    return (time.process_time() - begun) * 1e3 / CAP, (started - begun) * 1e3


def main() -> None:
    one_thread()
    arguments = harness.read(
        __doc__,
        harness.place("--known"),
        harness.place("--asked"),
        harness.option("--seeds", type=int, default=0, help="10; with --quick 2"),
        harness.option(
            "--external",
            nargs="*",
            choices=(*kernel_tools.FAMILIES, *kernel_tools.NEEDS),
            metavar="NAME",
            help=f"also these tools or methods ({', '.join(kernel_tools.FAMILIES)}), all without names",
        ),
        harness.option("--sources", choices=("all", "far", "other-vendor", "one"), default="all"),
        quick="no adversaries, no Optuna",
    )
    shipped, same = ShippedKnowledge.load(), arguments.is_one_folder
    known = load(arguments.known, shipped.names)
    asked = known if same else load(arguments.asked, shipped.names)
    share_values(known if same else [*known, *asked])
    held = arguments.draw("device", (space.device for space in asked))
    if not arguments.all:
        asked = [space for space in asked if space.device in held]
        known = [space for space in known if not same or space.device not in held]
    cases = [
        (space, sources)
        for space in asked
        for sources in chosen_sources(arguments.sources, space, known, shipped.hardware)
    ]
    asked = [space for space, _ in cases]
    seeds = arguments.seed_range(arguments.seeds or (2 if arguments.quick else 10))
    methods = kernel_tools.chosen(arguments.external, quick=arguments.quick)
    cold, twin = ColdSearches(), {}
    results: dict[str, dict[int, list[list[Any]]]] = defaultdict(lambda: defaultdict(list[Any]))
    candidates, cpu = 0, (0.0, 0.0)
    for k, (space, sources) in enumerate(cases):
        twin[k] = max(alikeness(space, source) for source in sources) > TWIN
        for seed in seeds:
            source_logs = [cold.log(source, seed, LOG) for source in sources]
            tables = [
                table(source, log, SIMILARITY[shipped.hardware.distance(space.device, source.device)])
                for source, log in zip(sources, source_logs, strict=True)
            ]
            first = bests(space, source_logs, seed)
            logs = {
                "cold_gp": cold.log(space, seed, LOG if space in known else CAP)[:CAP],
                "ours": warm(space, tables, seed),
                "best_first": warm(space, (), seed, first),
                "random": at_random(space, seed),
            }
            if seed == seeds[0] and len(space.costs) > candidates:
                candidates, cpu = len(space.costs), timed(space, tables, seed)
            for method in methods if seed < seeds[0] + TOOL_SEEDS else ():
                logs |= dict(kernel_tools.searches(space, seed, method, first))
            if not arguments.quick and seed < seeds[0] + 5:
                foreign = next((other for other in asked if other.task != space.task), None)
                other = None if foreign is None else table(foreign, cold.log(foreign, seed, LOG), 0.8)
                for kind in ("reversed", "shuffled", "other_kernel"):
                    wrong = [adverse(kind, t, other, seed) for t in tables]
                    logs[kind] = warm(space, [t for t in wrong if t], seed)
            for name, log in logs.items():
                results[name][k].append(log)
        five = {
            name: float(np.median([needed(space, log) for log in runs[k]]))
            for name, runs in results.items()
            if k in runs
        }
        said = f"{space.kernel} / {space.device} from {', '.join(source.device for source in sources)}"
        print(f"{said}: {len(space.costs)}, twin {twin[k]}, to 5 % {five}", flush=True)
    every, before = range(len(cases)), results["cold_gp"]
    report: dict[str, Any] = {"ours": None} | {
        name: figures(runs, asked, every, before) for name, runs in results.items()
    }
    tuned = [name for name in report if name.startswith("kernel_tuner")]
    for name, ending in (("kernel_tuner", ""), ("kernel_tuner_warm", "_warm")):
        alike = [other for other in tuned if other.endswith("_warm") is bool(ending)]
        best = min(alike, key=lambda other: report[other]["evals_to_5_geomean"], default=None)
        report[name] = None if best is None else {**report[best], "strategy": best}
    report |= {method: None for method in kernel_tools.NEEDS if method not in report}
    for name, has_twin in (("ours_twin", True), ("ours_no_twin", False)):
        report[name] = figures(results["ours"], asked, [k for k in every if twin[k] is has_twin], before)
    first_five = {k: runs[:5] for k, runs in before.items()}
    report["cold_gp_first_seeds"] = figures(first_five, asked, every, before)
    report["cpu_ms_per_suggestion"], report["cpu_ms_start"] = (round(x, 2) for x in cpu)
    report |= {"cpu_candidates": candidates, "seeds": len(seeds)}
    arguments.last_line(report, n=len(asked))


if __name__ == "__main__":
    main()
