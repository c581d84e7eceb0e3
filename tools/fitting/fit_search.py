"""Chooses what a search expects of its sources, and says what the choice is worth on kernels left out.

``python -m tools.fitting.fit_search --known DIR`` searches each kernel space of the folder with the other
devices' searches as sources (as ``warm_start.py`` does), once for each pair of amplitude and length-scale
shift of the expert that believes the sources (``recommender.search.belief.mixture.TRUSTING[0]``). The pair
counts that needs the fewest evaluations to within 5 % (geometric mean over runs; a miss counts 100).
``left_out`` is what is to be expected elsewhere: each kernel is searched with the pair chosen on the other
kernels. The last line is JSON.
"""

import argparse
from collections import defaultdict
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.harness import last_line
from benchmarks.protocols.groups import nested
from benchmarks.protocols.processes import one_thread
from benchmarks.searches.kernel_searches import run, table
from benchmarks.searches.warm_start import LOG, SIMILARITY
from benchmarks.worlds.kernel_spaces import CAP, OBJECTIVES, load, share_values
from benchmarks.worlds.shipped import ShippedKnowledge
from recommender.search.belief import mixture
from recommender.search.engine.search import Search

AMPLITUDES = (0.2, 0.3)
SHIFTS = (-1.0, -0.5, 0.0)


def main() -> None:
    """Read the options, do what the module says, and print the figures."""
    one_thread()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--known", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    shipped = ShippedKnowledge.load()
    spaces = load(arguments.known, shipped.names)
    share_values(spaces)
    tables = {
        (space.task, space.device, seed): run(
            space, Search(space=space.space, objectives=OBJECTIVES, seed=seed), LOG, whole=True
        )
        for space in spaces
        for seed in range(arguments.seeds)
    }
    needed: dict[str, dict[tuple[float, float], list[float]]] = defaultdict(lambda: defaultdict(list))
    usual = mixture.TRUSTING
    for pair in product(AMPLITUDES, SHIFTS):
        mixture.TRUSTING = (replace(usual[0], amplitude=pair[0], shorten=pair[1]), *usual[1:])
        for space in spaces:
            others = [s for s in spaces if s.task == space.task and s.device != space.device]
            for seed in range(arguments.seeds if others else 0):
                sources = [
                    table(
                        s,
                        tables[s.task, s.device, seed],
                        SIMILARITY[shipped.hardware.distance(space.device, s.device)],
                    )
                    for s in others
                ]
                search = Search(space=space.space, objectives=OBJECTIVES, sources=sources, seed=seed)
                costs = [cost for _, cost in run(space, search, CAP)]
                needed[space.kernel][pair].append(np.log(min(space.within(costs, 0.05), CAP)))
        every = [x for by in needed.values() for x in by[pair]]
        print(f"amplitude {pair[0]}  shift {pair[1]:5}  {np.exp(np.mean(every)):.2f}", flush=True)
    mixture.TRUSTING = usual

    apart = nested(needed)
    for kernel, (pair, loss) in apart.by_group.items():
        print(f"{kernel:<22} chosen without it: {pair}  {np.exp(loss):.2f}")
    last_line(
        {
            "amplitude": apart.chosen[0],
            "shift": apart.chosen[1],
            "evals_to_5_runs": round(float(np.exp(apart.inside)), 2),
            "left_out": round(float(np.exp(apart.outside)), 2),
            "runs": sum(len(by[apart.chosen]) for by in needed.values()),
        }
    )


if __name__ == "__main__":
    main()
