"""The price of pruning a space by what is known of other devices.

``python -m benchmarks.searches.space_pruning --cases DIR``: the exhaustively timed kernel spaces of ``kerneltuner_*`` on drawn devices
(``--all``: on every one) with the tables of the same kernel on all other devices, and then on one alone, known. Told are the share of the space that is gone and the
best of what is left over the best of all; beside it, the same share left out by value instead of by pair, and at random
(expected price of a random subset). Spaces whose kernel no other device has are passed over.
"""

import math

import numpy as np

from benchmarks import harness
from benchmarks.protocols.processes import one_thread
from benchmarks.worlds.kernel_spaces import Space, load, share_values
from benchmarks.worlds.shipped import ShippedKnowledge
from recommender.search.engine.pruning import prune
from recommender.search.evaluations import SourceTable

WITHIN = 1.02
SHARE = 0.6
"""Part of a space that goes."""


def source_of(space: Space) -> SourceTable:
    return SourceTable(
        name=space.device,
        similarity=1.0,
        configurations=list(space.costs),
        costs=np.array(list(space.costs.values())),
    )


def random_price(space: Space, share: float) -> float:
    """Expected factor above the best of what is left, where a share of the space goes at random."""
    costs = space.sorted[: min(len(space.sorted), 2000)] / space.best
    left = 1 - share
    chance = left * share ** np.arange(len(costs))
    return float((costs * chance).sum() / chance.sum())


def by_value(space: Space, others: list[Space], share: float) -> float:
    """Factor above the best where whole values go, dearest first, until the share is gone."""
    rows = list(space.costs)
    worst = np.zeros(len(rows))
    for name in space.values:
        prices = []
        for other in others:
            least: dict[object, float] = {}
            for settings, cost in other.costs.items():
                least[settings[name]] = min(cost, least.get(settings[name], math.inf))
            prices.append({value: math.log(cost / other.best) for value, cost in least.items()})
        price = {v: min((p[v] for p in prices if v in p), default=0.0) for v in space.values[name]}
        worst = np.maximum(worst, [price[settings[name]] for settings in rows])
    limit = np.sort(worst)[::-1][math.ceil(share * len(rows)) - 1]
    kept = [space.costs[rows[i]] for i in np.flatnonzero(worst < limit)] or [
        space.costs[rows[i]] for i in np.flatnonzero(worst <= limit)
    ]
    return min(kept) / space.best


def main() -> None:
    one_thread()
    arguments = harness.read(
        __doc__,
        harness.place("--cases", "--known"),
        quick="all others known alone",
    )
    spaces = load(arguments.cases, ShippedKnowledge.load().names)
    share_values(spaces)
    results: dict[str, list[tuple[float, float, float, float]]] = {"all_others": [], "one_other": []}
    held = arguments.draw("device", (space.device for space in spaces))
    hidden = frozenset() if arguments.all else held
    for space in (space for space in spaces if space.device in held):
        alike = [other for other in spaces if other.task == space.task and other is not space]
        others = [other for other in alike if other.device not in hidden]
        given = [("all_others", others)] if others else []
        if not arguments.quick:
            given += [("one_other", [other]) for other in others]
        for name, known in given:
            pruned = prune(space.space, [source_of(other) for other in known], share=SHARE)
            left = [space.costs[settings] for settings in pruned.space.enumerate()]
            price = min(left) / space.best
            removed = 1 - len(left) / len(space.costs)
            results[name].append(
                (removed, price, by_value(space, known, SHARE), random_price(space, removed))
            )
            print(
                f"{space.kernel} / {space.device}, {name}: gone, best x, by value, at random {results[name][-1]}"
            )
    figures: dict[str, object] = {}
    for name, rows in results.items():
        if not rows:
            continue
        table = np.array(rows)
        for column, method in ((1, "pairs"), (2, "values"), (3, "random")):
            shares = (table[:, column] <= WITHIN).mean()
            figures[f"{name}_{method}_within_2"] = round(float(shares), 4)
            figures[f"{name}_{method}_worst"] = round(float(table[:, column].max()), 4)
        figures |= {f"{name}_n": len(rows), f"{name}_removed": round(float(table[:, 0].mean()), 4),
                    f"{name}_removed_least": round(float(table[:, 0].min()), 4)}  # fmt: skip
    arguments.last_line(figures, n=len(results["all_others"]))


if __name__ == "__main__":
    main()
