"""Searches of cost-model spaces: evaluations to the enumerated optimum, and hypervolume against Optuna's.

``python -m benchmarks.searches.search_cost_model [--seeds 5] [--quick] [FILE ...]`` takes search files whose numbers
come from the cost model (the shipped ones by default), enumerates each space, and searches it cold within 60
evaluations: for the first objective within the limits (``evals_to_1``: evaluations to 1 % of the best that
there is, a miss counts 60), and for the first two and three objectives (``hypervolume``: share of the volume
that the true front dominates, costs on a log scale between the best and the median). Optuna's samplers are given
the same parameters; what breaks a constraint costs them nothing but is counted as ``infeasible``, asking
again costs nothing and is counted as ``duplicates``. Everything is modelled. The last line is JSON.
"""

import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.protocols.processes import one_thread
from benchmarks.searches.hypervolume import hypervolume
from benchmarks.worlds.shipped import ShippedKnowledge
from ingest.questions.aims import KnownOperator
from kg.errors import UnknownEntityError
from kg.nouns.entities import Better, Status
from kg.nouns.values import Settings
from kg.rows.trials import TrialStore
from recommender.cost_model.estimate import estimate_question
from recommender.ranking.measured.near_runs import NearRuns
from recommender.retrieval.neighbours import Retriever
from recommender.search.engine.pareto import non_dominated
from recommender.search.engine.search import Search
from recommender.search.evaluations import Evaluation
from recommender.search.run.assembly import model_of_task
from recommender.search.run.preparation import Tuner
from recommender.search.run.task_file import read_task_file, shipped_names

BUDGET = 60

METHODS = ("ours", "random", "tpe", "nsga2")

SHOWN = ("evals_to_1", "hypervolume_2", "hypervolume_3")
"""Figures that are printed seed by seed."""


def unknown(name: str) -> KnownOperator:
    raise UnknownEntityError(f"no operator named {name!r}")


def tuner_of(shipped: ShippedKnowledge) -> Tuner:
    """The tuner of a search of the cost model: knowledge alone, no known problems."""

    def nothing() -> Retriever:
        raise LookupError("a cold search asks for no neighbours")

    trials = TrialStore(Path(tempfile.mkdtemp()) / "trials.sqlite3")
    return Tuner(
        graph=shipped.graph,
        names=shipped.names,
        hardware=shipped.hardware,
        trials=trials,
        retriever=nothing,
        operator=unknown,
        about=NearRuns(trials, shipped.graph, shipped.hardware).about,
    )


class World:
    """One space, wholly estimated.

    Attributes:
        values: Objectives, then limits that are metrics of the model, by configuration; None where it fails.
    """

    def __init__(self, file: str, shipped: ShippedKnowledge) -> None:
        self.task = tuner_of(shipped).prepare(read_task_file(file), base={}, cold=True).task
        self.objectives = self.task.objectives
        self.limits = tuple(limit for limit in self.task.limits if limit.metric == "peak_memory")
        model = model_of_task(self.task)
        everything = list(self.task.space.declared.enumerate())
        steps = estimate_question(model.question, everything)
        known: dict[str, Any] = {
            "throughput": steps.throughput,
            "step_time": steps.time_s,
            "peak_memory": steps.memory_total,
            "energy": steps.energy_j,
        }
        names = [item.metric for item in self.objectives] + [item.metric for item in self.limits]
        columns = [known[name] for name in names]
        table = np.stack(columns, axis=1)
        runs = np.asarray(steps.fits) & np.isfinite(table).all(axis=1)
        self._scales: dict[int, tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]] = {}
        self._volumes: dict[int, float] = {}
        self.values = {
            item: tuple(row) if on else None
            for item, row, on in zip(everything, table.tolist(), runs.tolist(), strict=True)
        }

    def costs(self, settings: Settings, count: int) -> list[float] | None:
        """Log costs of the first objectives; None where it fails or breaks a limit."""
        known = self.values.get(settings)
        if known is None:
            return None
        bounds = known[len(self.objectives) :]
        if any(v > limit.maximum for v, limit in zip(bounds, self.limits, strict=True)):
            return None
        signs = [1 if o.better is Better.LOWER else -1 for o in self.objectives[:count]]
        return [sign * float(np.log(v)) for sign, v in zip(signs, known[:count], strict=False)]

    def scale(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """All allowed costs, their best and their medians."""
        if count not in self._scales:
            self._scales[count] = self._scale(count)
        return self._scales[count]

    def true_volume(self, count: int) -> float:
        """The true front's hypervolume; see ``volume``."""
        if count not in self._volumes:
            every, best, middle = self.scale(count)
            scaled = np.unique((every - best) / np.maximum(middle - best, 1e-9), axis=0)
            scaled = scaled[(scaled < 1.0).all(axis=1)]
            self._volumes[count] = hypervolume(scaled[non_dominated(scaled)], np.ones(count))
        return self._volumes[count]

    def _scale(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        every = np.array([c for s in self.values if (c := self.costs(s, count)) is not None])
        return every, every.min(axis=0), np.median(every, axis=0)


def search(world: World, seed: int, count: int) -> tuple[list[Settings], float]:
    """Our search; configurations in order and CPU milliseconds a suggestion."""
    objectives = world.objectives[:count]
    found: list[Settings] = []
    start = time.process_time()
    ours = Search(space=world.task.space, objectives=objectives, limits=world.limits, seed=seed)
    while len(found) < min(BUDGET, len(world.values)):
        suggestion = ours.ask()[0]
        known = world.values[suggestion.configuration]
        kept = None if known is None else (*known[:count], *known[len(world.objectives) :])
        ours.tell(
            Evaluation(configuration=suggestion.configuration, values=kept)
            if kept
            else Evaluation(configuration=suggestion.configuration, values=(None,), status=Status.FAILED),
            suggestion.number,
        )
        found.append(suggestion.configuration)
    return found, (time.process_time() - start) * 1e3 / len(found)


def at_random(world: World, seed: int) -> list[Settings]:
    every = list(world.values)
    return [every[i] for i in np.random.default_rng([seed, 6]).permutation(len(every))[:BUDGET]]


def optuna_search(world: World, seed: int, count: int, kind: str) -> tuple[list[Settings], int, int]:
    """One of Optuna's samplers; new allowed configurations, and how often it asked for others."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler: optuna.samplers.BaseSampler
    if kind == "nsga2":
        sampler = optuna.samplers.NSGAIISampler(population_size=20, seed=seed)
    else:
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=10)
    study = optuna.create_study(directions=["minimize"] * count, sampler=sampler)
    found: list[Settings] = []
    seen: set[Settings] = set()
    duplicates = infeasible = 0
    _, _, middle = world.scale(count)
    for _ in range(10 * BUDGET):
        if len(found) >= BUDGET:
            break
        trial = study.ask()
        chosen: dict[str, object] = {}
        for parameter in world.task.space.parameters:
            if parameter.when and chosen.get("tensor_parallel", 2) == 1:
                continue
            chosen[parameter.name] = trial.suggest_categorical(parameter.name, list[Any](parameter.values))
        settings = Settings(chosen)
        if settings not in world.values:
            infeasible += 1
            study.tell(trial, (middle + 3.0).tolist())
            continue
        if settings in seen:
            duplicates += 1
        else:
            found.append(settings)
            seen.add(settings)
        costs = world.costs(settings, count)
        study.tell(trial, costs if costs is not None else (middle + 2.0).tolist())
    return found, duplicates, infeasible


def _counted(world: World, found: list[Settings]) -> tuple[list[Settings], int, int]:
    """Configurations, and how many were asked twice or are none of the space."""
    return found, len(found) - len(set(found)), sum(settings not in world.values for settings in found)


def evals_to(world: World, configurations: list[Settings]) -> int:
    _, best, _ = world.scale(1)
    for place, settings in enumerate(configurations, 1):
        costs = world.costs(settings, 1)
        if costs is not None and costs[0] <= best[0] + np.log(1.01):
            return place
    return BUDGET


def volume(world: World, configurations: list[Settings], count: int) -> float:
    """Share of the true front's hypervolume between the best and the median of all that is allowed."""
    _, best, middle = world.scale(count)
    width = np.maximum(middle - best, 1e-9)
    mine = [c for s in configurations if (c := world.costs(s, count)) is not None]
    return (
        hypervolume((np.array(mine) - best) / width, np.ones(count)) / world.true_volume(count)
        if mine
        else 0.0
    )


def main() -> None:
    one_thread()
    arguments = harness.read(
        __doc__,
        harness.option("files", nargs="*"),
        harness.option("--seeds", type=int, default=5),
        harness.option("--methods", nargs="+", choices=METHODS, default=METHODS, help="all, unless named"),
        harness.option(
            "--objectives", nargs="+", type=int, choices=(1, 2, 3), default=(1, 2, 3), help="how many"
        ),
        quick="one space, two seeds",
    )
    files = arguments.files or [n for n in shipped_names() if read_task_file(n).raw.get("cost_model")]
    files, seeds = (
        (files[:1], arguments.seed_range(min(2, arguments.seeds)))
        if arguments.quick
        else (files, arguments.seed_range(arguments.seeds))
    )
    shipped = ShippedKnowledge.load()
    report: dict[str, object] = {}
    for file in files:
        world = World(file, shipped)
        allowed = len(world.scale(1)[0])
        rows: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for seed in seeds:
            for count in (n for n in arguments.objectives if n <= len(world.objectives)):
                figure = "evals_to_1" if count == 1 else f"hypervolume_{count}"
                runs: dict[str, tuple[list[Settings], int, int]] = {}
                if "ours" in arguments.methods:
                    mine, cpu = search(world, seed, count)
                    runs["ours"] = _counted(world, mine)
                    rows["ours"]["cpu_ms"].append(cpu)
                if "random" in arguments.methods:
                    runs["random"] = (at_random(world, seed), 0, 0)
                for kind in ("tpe", "nsga2"):
                    if kind in arguments.methods:
                        runs[kind] = optuna_search(world, seed, count, kind)
                for name, (found, duplicates, infeasible) in runs.items():
                    rows[name][figure].append(
                        evals_to(world, found) if count == 1 else volume(world, found, count)
                    )
                    rows[name]["duplicates"].append(duplicates)
                    rows[name]["infeasible"].append(infeasible)
                    rows[name]["broken"].append(float(np.mean([world.costs(s, 1) is None for s in found])))
        summary = {
            name: {figure: round(float(np.mean(values)), 3) for figure, values in row.items()}
            for name, row in rows.items()
        }
        for name, row in rows.items():
            print(
                f"    {name:<11}"
                + "  ".join(f"{f} {np.round(v, 3).tolist()}" for f, v in row.items() if f in SHOWN)
            )
        report[file] = {"space": len(world.values), "allowed": allowed, **summary}
        print(f"{file}: {len(world.values):,} configurations, {allowed:,} run within the limits")
        for name, line in summary.items():
            print(
                f"    {name:<11}" + "  ".join(f"{figure} {value:g}" for figure, value in line.items()),
                flush=True,
            )
    report["seeds"] = len(seeds)
    arguments.last_line(report, n=len(files) * len(seeds))


if __name__ == "__main__":
    main()
