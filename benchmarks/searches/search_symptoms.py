"""Diagnoses of searches: planted problems that are found, healthy searches that are left in peace.

``python -m benchmarks.searches.search_symptoms --cases DIR`` replays searches on the exhaustively timed kernel spaces of
``kerneltuner_*``. Healthy: our own search, one other device known, ended by ten evaluations without gain and within 10 % of
the space's best (which the diagnoser does not know), 1 % of noise, finalists measured again. Planted, each on the same
real tables: proposals at random that end more than 10 % above the best; a search cut off while it gains; noise of 30 %;
memory that runs out beyond a bound on one parameter; a best that was luck; a machine that slows down; a search that goes on
long after its last gain; a few evaluations that take most of the time. Found: the planted diagnosis is among those given.
False: any diagnosis of a healthy search.
"""

import math
from collections.abc import Iterable

import numpy as np

from benchmarks import harness
from benchmarks.protocols.processes import one_thread
from benchmarks.worlds.kernel_spaces import OBJECTIVES, Space, load, share_values
from benchmarks.worlds.shipped import ShippedKnowledge
from kg.nouns.entities import Status
from kg.nouns.values import Settings
from recommender.search.engine.search import Search
from recommender.search.evaluations import Evaluation, SourceTable
from recommender.search.report.history import History
from recommender.search.report.symptoms import NOT_CONVERGING, OUT_OF_MEMORY, REGRESSION, TOO_LONG, check

NOISE = 0.01


def measured(
    space: Space,
    settings: Settings,
    rng: np.random.Generator,
    *,
    noise: float = NOISE,
    factor: float = 1.0,
    took: float = 1.0,
) -> Evaluation:
    cost = space.costs[settings]
    if not math.isfinite(cost):
        return Evaluation(
            configuration=settings,
            values=(None,),
            status=Status.FAILED,
            reason="did not compile",
            cost_s=took,
        )
    value = cost * factor * math.exp(noise * rng.standard_normal())
    return Evaluation(configuration=settings, values=(value,), cost_s=took)


def cost_of(evaluation: Evaluation) -> float:
    """Cost of an evaluation that ran."""
    value = evaluation.values[0]
    assert value is not None
    return value


def history(evaluations: Iterable[Evaluation]) -> History:
    return History(objective=OBJECTIVES[0], evaluations=tuple(evaluations))


def sensible(
    space: Space, other: Space | None, rng: np.random.Generator, seed: int, *, patience: int | None, most: int
) -> list[Evaluation]:
    """Our search, finalists measured again at the end."""
    sources = []
    if other is not None:
        rows = [other_settings for other_settings, c in other.costs.items()]
        chosen = rng.choice(len(rows), min(200, len(rows)), replace=False)
        sources = [
            SourceTable(
                name=other.device, similarity=0.8, configurations=[rows[i] for i in chosen],
                costs=np.array([other.costs[rows[i]] for i in chosen]),
            )
        ]  # fmt: skip
    search = Search(
        space=space.space, objectives=OBJECTIVES, sources=sources, seed=seed, patience=patience, budget=most
    )
    while search.stop_reason is None and (asked := search.ask()):
        search.tell(measured(space, asked[0].configuration, rng), asked[0].number)
    done = list(search.evaluations)
    finalists = sorted((e for e in done if e.ok), key=cost_of)[:3]
    return done + [measured(space, e.configuration, rng) for e in finalists]


def best_of(space: Space, evaluations: Iterable[Evaluation]) -> float:
    """True cost of the best that was tried, over the space's best."""
    return min(space.costs[e.configuration] for e in evaluations if e.ok) / space.best


def random_run(space: Space, rng: np.random.Generator, n: int, **more: float) -> list[Evaluation]:
    rows = list(space.costs)
    return [measured(space, rows[i], rng, **more) for i in rng.choice(len(rows), n, replace=False)]


def planted(
    space: Space, good: list[Evaluation], rng: np.random.Generator
) -> dict[str, tuple[str, list[Evaluation] | None]]:
    """Histories with one planted problem each; None where a table does not allow it."""
    made: dict[str, tuple[str, list[Evaluation] | None]] = {}
    chance = random_run(space, rng, int(rng.integers(30, 70)))
    made["random proposals"] = NOT_CONVERGING, chance if best_of(space, chance) > 1.10 else None
    # cut off while it gains: early random ones, then a walk down to a cost that is still far from the best
    rows = sorted((s for s, c in space.costs.items() if math.isfinite(c)), key=lambda s: -space.costs[s])
    places = np.sort(rng.integers(len(rows) // 4, int(0.97 * len(rows)), 30))
    walk = [measured(space, rows[i], rng) for i in places]
    gained = cost_of(walk[-11]) / min(cost_of(e) for e in walk[-10:]) > 1.05
    made["cut off"] = NOT_CONVERGING, walk if gained and best_of(space, walk) > 1.10 else None
    base = good[: len(good) - 3]
    loud = [measured(space, e.configuration, rng, noise=0.3) for e in base for _ in range(2)]
    made["noise"] = NOT_CONVERGING, loud if sum(e.ok for e in loud) >= 24 else None
    name = next(
        (n for n, values in space.values.items() if len(values) >= 4 and not isinstance(values[0], str)), None
    )
    memory = None
    if name is not None:
        bound = sorted(space.values[name])[int(0.6 * len(space.values[name]))]
        memory = [
            Evaluation(configuration=e.configuration, values=(None,), status=Status.FAILED, cost_s=1.0,
                       reason=str(rng.choice(["CUDA out of memory. Tried to allocate 2.00 GiB", "RESOURCE_EXHAUSTED",
                                              "NPU out of memory", "OOM"])))
            if e.configuration[name] >= bound else e
            for e in random_run(space, rng, 40)
        ]  # fmt: skip
        if sum(not e.ok and "compile" not in e.reason for e in memory) < 0.15 * len(memory):
            memory = None
    made["memory"] = OUT_OF_MEMORY, memory
    best = min((e for e in base if e.ok), key=cost_of)
    lucky = [
        Evaluation(configuration=e.configuration, values=(cost_of(e) * 0.88,), cost_s=1.0) if e is best else e
        for e in base
    ]
    made["luck"] = REGRESSION, [*lucky, *(measured(space, best.configuration, rng) for _ in range(2))]
    slowing = [
        Evaluation(
            configuration=e.configuration, values=(cost_of(e) * (1 + 0.2 * t / len(base)),), cost_s=1.0
        )
        if e.ok
        else e
        for t, e in enumerate(base)
    ]
    first = [e for e in slowing[: len(slowing) // 2] if e.ok][:4]
    made["slowing machine"] = (
        REGRESSION,
        (
            [*slowing, *(measured(space, e.configuration, rng, factor=1.2) for e in first)]
            if len(first) == 4
            else None
        ),
    )
    more = [measured(space, rows[i], rng) for i in rng.choice(len(rows), 60, replace=False)]
    least = min(cost_of(e) for e in base if e.ok)
    made["goes on"] = TOO_LONG, [*base, *(e for e in more if e.ok and cost_of(e) > least)]
    few = (
        set(rng.choice(len(base), max(2, len(base) // 10), replace=False).tolist())
        if len(base) >= 14
        else set()
    )
    made["slow few"] = TOO_LONG, (
        [
            Evaluation(configuration=e.configuration, values=e.values, status=e.status, reason=e.reason,
                       cost_s=(60.0 if i in few else 1.0) * math.exp(0.2 * rng.standard_normal()))
            for i, e in enumerate(base)
        ] if few else None
    )  # fmt: skip
    return made


def main() -> None:
    one_thread()
    arguments = harness.read(
        __doc__,
        harness.place("--cases", "--known"),
        harness.option("--seeds", type=int, default=4),
        quick="one seed",
    )
    seeds = arguments.seed_range(1 if arguments.quick else arguments.seeds)
    spaces = load(arguments.cases, ShippedKnowledge.load().names)
    share_values(spaces)
    healthy: list[tuple[bool, str]] = []
    found: dict[str, list[bool]] = {}
    passed_over = 0
    for place, space in enumerate(spaces):
        others = [other for other in spaces if other.task == space.task and other is not space]
        for seed in seeds:
            rng = np.random.default_rng([place, seed])
            good = sensible(space, others[0] if others else None, rng, seed, patience=10, most=100)
            if best_of(space, good) > 1.10 or sum(e.ok for e in good) < 12:
                passed_over += 1
                continue
            said = [f"{item.name} ({item.cause})" for item in check(history(good)).symptoms]
            healthy.append((bool(said), f"{space.kernel} on {space.device}, seed {seed}: {', '.join(said)}"))
            for name, (diagnosis, evaluations) in planted(space, good, rng).items():
                if evaluations is not None:
                    names = {item.name for item in check(history(evaluations)).symptoms}
                    found.setdefault(name, []).append(diagnosis in names)
    print(f"{len(spaces)} spaces; {passed_over} searches were not healthy and are passed over\n")
    print(*(f"false: {text}" for is_false, text in healthy if is_false), sep="\n")
    every = [hit for hits in found.values() for hit in hits]
    arguments.last_line(
        {
            "found": harness.mean(every),
            "false": harness.mean(is_false for is_false, _ in healthy),
            "planted": len(every),
            "healthy": len(healthy),
            "found_by_problem": {name: harness.mean(hits) for name, hits in found.items()},
        },
        n=len(every) + len(healthy),
    )


if __name__ == "__main__":
    main()
