"""A search in stages beside the plain one: on kernel spaces, on the cost model's, and with noise."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from benchmarks.searches.kernel_searches import evaluation, run
from benchmarks.searches.stages import RULES, Staged
from benchmarks.worlds.kernel_spaces import CAP, OBJECTIVES, Space
from recommender.search.engine.search import Search
from recommender.search.evaluations import Evaluation

TRIES, FINALISTS, TURNS = 30, 3, 4
"""Evaluations of a noisy search, all told; finalists of the plain one and how often each is measured again."""


def searches(
    spaces: Sequence[Space],
    sources: Callable[[Space, int], list[Any]],
    seeds: Iterable[int],
    policies: list[str],
) -> dict[str, dict[int, list[list[Any]]]]:
    """Runs by policy and space; ``sources`` gives what a search of a space starts from, seed for seed."""
    found: dict[str, dict[int, list[list[Any]]]] = defaultdict(lambda: defaultdict(list[Any]))
    for k, space in enumerate(spaces):
        for seed in seeds:
            tables = sources(space, seed)
            common: dict[str, Any] = {
                "space": space.space,
                "objectives": OBJECTIVES,
                "sources": tables,
                "seed": seed,
            }
            found["plain"][k].append(run(space, Search(**common), CAP))
            for name in policies:
                found[name][k].append(run(space, Staged(rule=RULES[name], **common), CAP))
        shown = "  ".join(
            f"{name} {np.median([min(space.within([c for _, c in log], 0.05), CAP) for log in runs[k]]):g}"
            for name, runs in found.items()
        )
        print(f"    {space.kernel} / {space.device}  to 5 %: {shown}", flush=True)
    return found


def noisy(spaces: Sequence[Space], seeds: Iterable[int], noise: float) -> dict[str, float]:
    """Mean log regret of what is chosen after ``TRIES`` noisy evaluations, by policy; the truth judges."""
    found = defaultdict(list)
    for space in spaces:
        for seed in seeds:
            for name in ("plain", "plain_finalists", "staged_repeats"):
                chosen = _noisy_choice(space, seed, noise, name)
                found[name].append(math.log(chosen / space.best))
    return {name: round(float(np.mean(values)), 4) for name, values in found.items()}


def _noisy_choice(space: Space, seed: int, noise: float, name: str) -> float:
    """The true cost of what a policy holds for the best."""
    rng = np.random.default_rng([seed, 11])
    common: dict[str, Any] = {"space": space.space, "objectives": OBJECTIVES, "seed": seed}
    search = Staged(rule=RULES["thirds_of_30"], **common) if name == "staged_repeats" else Search(**common)
    finals: list[Any] = []
    for count in range(TRIES):
        if name == "plain_finalists" and count >= TRIES - FINALISTS * TURNS:
            finals = finals or [s.configuration for s in search.repeats(FINALISTS)]
            settings, number = finals[count % len(finals)], None
        else:
            refines = name == "staged_repeats" and count >= 2 * TRIES // 3 and count % 2
            asked = (search.repeats(1) if refines else search.ask())[0]
            settings, number = asked.configuration, asked.number
        cost = space.costs[settings]
        if math.isfinite(cost):
            value = cost * math.exp(noise * rng.standard_normal())
            search.tell(Evaluation(configuration=settings, values=(value,)), number)
        else:
            search.tell(evaluation(space, settings), number)
    best = search.incumbent
    return float(space.sorted[-1]) if best is None else space.costs[best.configuration]
