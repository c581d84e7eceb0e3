"""Searches of the shipped sweeps of C kernels: from other shapes, from another processor, with the kernel left out.

    python -m benchmarks.searches.swept_kernels [--sweeps data/sweeps] [--seeds 5] [--quick]

Every configuration of every shape was measured once (the mean of its repeats), so a search looks its numbers
up; within 5 % of the best means of that table's least mean, noise included. A source is known only through the
60 evaluations of our own cold search on it, seed for seed. ``shapes``: the other shapes of the kernel.
``processor``: the same shape on another processor (the matrix product alone). ``kernel left out``: all other
kernels, which share the compiler, its flags and the threads, and some a parameter named ``rows``.
``estimate``: nothing but the arithmetic of the kernel's loops (``benchmarks.worlds.sweep_spaces``). Beside it ``copied``: the
sources' bests first, then cold. Figures: evaluations to 5 %, geometric mean over runs (a miss counts 100), shares
within 5 % by 10 and 20, and problems (of a kernel and shape). A seed draws kernels: they alone are asked, and none of
them is a source of another.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.protocols.processes import ROOT, one_thread
from benchmarks.searches.kernel_searches import ColdSearches, at_random, bests, needed, table, warm
from benchmarks.worlds.kernel_spaces import Space, load, share_values
from benchmarks.worlds.shipped import ShippedKnowledge
from benchmarks.worlds.sweep_spaces import ESTIMATES
from ingest.reading import read
from kg.nouns.entities import Case
from kg.triples.names import Names
from recommender.search.evaluations import SourceTable
from recommender.search.run.estimate import CostEstimate

LOG = 60
"""Evaluations that are known of a source: a tenth of a space and less."""

SIMILARITY = {
    "shapes": 0.8,
    "processor": 0.4,
    "kernel left out": 0.4,
    "estimate": 0.4,
}
"""Trust in a source before anything is measured; a choice, as in ``benchmarks.searches.warm_start``."""


def sources(kind: str, space: Space, spaces: Sequence[Space], hidden: frozenset[str]) -> list[Space]:
    """The spaces that a protocol knows when it searches one."""
    if kind == "shapes":
        return [
            s
            for s in spaces
            if s.kernel == space.kernel and s.device == space.device and s.task != space.task
        ]
    if kind == "processor":
        return [s for s in spaces if s.task == space.task and s.device != space.device]
    if kind == "estimate":
        return []
    apart = hidden | {space.kernel}
    return [s for s in spaces if s.kernel not in apart and s.device == space.device]


def sizes_of(folder: Path, names: Names) -> dict[str, dict[str, float]]:
    """Sizes of the problem of each task of a folder of sweeps."""
    return {
        item.problem.task_id: dict(item.problem.workload.shape.numbers())
        for item in read(sorted(folder.glob("*.jsonl.gz")), names)
        if isinstance(item, Case)
    }


def estimated(space: Space, sizes: Mapping[str, float]) -> SourceTable:
    """The estimate of a kernel's space from its loops."""
    text = ESTIMATES[space.kernel]
    return CostEstimate.parse(text, space.space, sizes).source(space.space, np.random.default_rng(0))


def figures(needed: Sequence[int], problems: int) -> dict[str, float | int]:
    """Figures of one method over its runs."""
    count = np.array(needed)
    return {
        "evals_to_5": round(float(np.exp(np.log(count).mean())), 2),
        "hit5_at_10": round(float((count <= 10).mean()), 3),
        "hit5_at_20": round(float((count <= 20).mean()), 3),
        "problems": problems,
    }


def main() -> None:
    one_thread()
    options = harness.read(
        __doc__,
        harness.place("--sweeps", default=ROOT / "data" / "sweeps"),
        harness.option("--seeds", type=int, default=5),
        quick="one seed",
    )
    names = ShippedKnowledge.load().names
    here = load(options.sweeps, names, "*.jsonl.gz", least=300)
    elsewhere = load(ROOT / "data" / "cases", names, "blocked_matmul.jsonl.gz", least=300)
    for group in (here, elsewhere):  # apart: the other processor's sweep has one compiler
        share_values(group)
    spaces, sizes = [*here, *elsewhere], sizes_of(options.sweeps, names)
    seeds = options.seed_range(1 if options.quick else options.seeds)
    cold, runs = ColdSearches(), defaultdict[str, dict[str, list[int]]](lambda: defaultdict(list))
    count: dict[str, int] = defaultdict(int)
    held = options.draw("kernel", (space.kernel for space in here))
    hidden = frozenset() if options.all else held
    asked = [space for space in here if space.kernel in held]
    for space in asked:
        for kind, similarity in SIMILARITY.items():
            known = sources(kind, space, spaces, hidden)
            loops = [estimated(space, sizes[space.task])] if kind == "estimate" else []
            count[kind] += bool(known or loops)
            for seed in seeds if known or loops else ():
                found = [cold.log(source, seed)[:LOG] for source in known]
                tables = [table(source, log, similarity) for source, log in zip(known, found, strict=True)]
                logs = {
                    "warm": warm(space, [*loops, *tables], seed),
                    "copied": warm(space, (), seed, bests(space, found, seed)),
                    "cold": cold.log(space, seed),
                    "random": at_random(space, seed),
                }
                for name, log in logs.items():
                    runs[kind][name].append(needed(space, log))
        print(f"{space.kernel} on {space.device}: {len(space.costs)} configurations", flush=True)
    result = {kind: {name: figures(by[name], count[kind]) for name in by} for kind, by in runs.items()}
    options.last_line({**result, "seeds": len(seeds)}, n=len(asked))


if __name__ == "__main__":
    main()
