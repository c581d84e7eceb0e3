"""Searches of cost-model spaces: evaluations to the enumerated optimum, beside Optuna's TPE.

``python -m benchmarks.searches.search_cost_model [--seeds 5] [--quick] [FILE ...]`` takes search files whose numbers
come from the cost model (the shipped ones by default), enumerates each space, and searches it cold within 60
evaluations for the first objective within the limits: ``evals_to_1`` are evaluations to 1 % of the best that there is,
a miss counts 60. TPE is given the same parameters; what breaks a constraint costs it nothing but is counted as
``infeasible``, asking again costs nothing and is counted as ``duplicates``. Everything is modelled. The last line is
JSON.
"""

import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.protocols.processes import one_thread
from benchmarks.worlds.shipped import ShippedKnowledge
from ingest.questions.aims import KnownOperator
from kg.errors import UnknownEntityError
from kg.nouns.entities import Better, Status
from kg.nouns.values import Settings
from kg.rows.trials import TrialStore
from recommender.cost_model.estimate import estimate_question
from recommender.ranking.measured.near_runs import NearRuns
from recommender.retrieval.neighbours import Retriever
from recommender.search.engine.search import Search
from recommender.search.evaluations import Evaluation
from recommender.search.run.assembly import model_of_task
from recommender.search.run.preparation import Tuner
from recommender.search.run.task_file import read_task_file, shipped_names

BUDGET = 60

METHODS = ("ours", "random", "tpe")


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
        allowed: How many run within the limits.
        best: Lowest log cost of these.
        middle: Their median.
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
        self.values = {
            item: tuple(row) if on else None
            for item, row, on in zip(everything, table.tolist(), runs.tolist(), strict=True)
        }

        costs = [cost for settings in self.values if (cost := self.cost(settings)) is not None]
        self.allowed, self.best, self.middle = len(costs), min(costs), float(np.median(costs))

    def cost(self, settings: Settings) -> float | None:
        """Log cost of the first objective; None where it fails or breaks a limit."""
        known = self.values.get(settings)
        if known is None:
            return None
        bounds = known[len(self.objectives) :]
        if any(v > limit.maximum for v, limit in zip(bounds, self.limits, strict=True)):
            return None
        return float(np.log(known[0])) * (1 if self.objectives[0].better is Better.LOWER else -1)


def search(world: World, seed: int) -> tuple[list[Settings], float]:
    """Our search; configurations in order and CPU milliseconds a suggestion."""
    found: list[Settings] = []
    start = time.process_time()
    ours = Search(space=world.task.space, objectives=world.objectives[:1], limits=world.limits, seed=seed)
    while len(found) < min(BUDGET, len(world.values)):
        suggestion = ours.ask()[0]
        known = world.values[suggestion.configuration]
        kept = None if known is None else (known[0], *known[len(world.objectives) :])
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


def optuna_search(world: World, seed: int) -> tuple[list[Settings], int, int]:
    """Optuna's TPE; new allowed configurations, and how often it asked for others."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=10))
    found: list[Settings] = []
    seen: set[Settings] = set()
    duplicates = infeasible = 0
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
            study.tell(trial, world.middle + 3.0)
            continue
        if settings in seen:
            duplicates += 1
        else:
            found.append(settings)
            seen.add(settings)
        cost = world.cost(settings)
        study.tell(trial, cost if cost is not None else world.middle + 2.0)
    return found, duplicates, infeasible


def _counted(world: World, found: list[Settings]) -> tuple[list[Settings], int, int]:
    """Configurations, and how many were asked twice or are none of the space."""
    return found, len(found) - len(set(found)), sum(settings not in world.values for settings in found)


def evals_to(world: World, configurations: list[Settings]) -> int:
    for place, settings in enumerate(configurations, 1):
        cost = world.cost(settings)
        if cost is not None and cost <= world.best + np.log(1.01):
            return place
    return BUDGET


def main() -> None:
    one_thread()
    arguments = harness.read(
        __doc__,
        harness.option("files", nargs="*"),
        harness.option("--seeds", type=int, default=5),
        harness.option("--methods", nargs="+", choices=METHODS, default=METHODS, help="all, unless named"),
        quick="one space, two seeds",
    )
    files = arguments.files or [n for n in shipped_names() if read_task_file(n).raw.get("cost_model")]
    files = files[:1] if arguments.quick else files
    seeds = arguments.seed_range(min(2, arguments.seeds) if arguments.quick else arguments.seeds)
    shipped = ShippedKnowledge.load()
    report: dict[str, object] = {}
    for file in files:
        world = World(file, shipped)
        rows: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for seed in seeds:
            runs: dict[str, tuple[list[Settings], int, int]] = {}
            if "ours" in arguments.methods:
                mine, cpu = search(world, seed)
                runs["ours"] = _counted(world, mine)
                rows["ours"]["cpu_ms"].append(cpu)
            if "random" in arguments.methods:
                runs["random"] = (at_random(world, seed), 0, 0)
            if "tpe" in arguments.methods:
                runs["tpe"] = optuna_search(world, seed)
            for name, (found, duplicates, infeasible) in runs.items():
                rows[name]["evals_to_1"].append(evals_to(world, found))
                rows[name]["duplicates"].append(duplicates)
                rows[name]["infeasible"].append(infeasible)
                rows[name]["broken"].append(float(np.mean([world.cost(s) is None for s in found])))
        summary = {
            name: {figure: round(float(np.mean(values)), 3) for figure, values in row.items()}
            for name, row in rows.items()
        }
        report[file] = {"space": len(world.values), "allowed": world.allowed, **summary}
    report["seeds"] = len(seeds)
    arguments.last_line(report, n=len(files) * len(seeds))


if __name__ == "__main__":
    main()
