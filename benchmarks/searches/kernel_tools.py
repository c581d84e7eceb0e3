"""Searches of kernel spaces by other tools: Optuna's samplers, SMAC, Kernel Tuner's strategies.

Optuna and SMAC know no listed space: what they ask beyond it costs them nothing and is told to them as the worst
time. Kernel Tuner is given the space as a restriction and runs in its simulation mode. Nobody pays for asking
again. A warm tool begins with the sources' bests, as our search from copies does: Optuna has them enqueued and
learns from them, Kernel Tuner's strategies start after them (most take no starting point, the others one).
"""

import importlib.util
import json
import math
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.worlds.kernel_spaces import CAP, Space
from kg.nouns.values import Settings

ASKED = 20 * CAP
"""Proposals after which a tool that repeats itself or leaves the space is stopped."""

STRATEGIES = (
    "adaptive_tabu_greywolf",
    "bayes_opt",
    "diff_evo",
    "dual_annealing",
    "genetic_algorithm",
    "greedy_ils",
    "hybrid_vndx",
    "pso",
    "simulated_annealing",
)
"""Kernel Tuner's, with their own settings."""

NEEDS = {
    "optuna_tpe": ("optuna",),
    "optuna_gp": ("optuna", "torch"),
    "smac": ("smac", "ConfigSpace"),
    **{f"kernel_tuner_{strategy}": ("kernel_tuner",) for strategy in STRATEGIES},
}
"""Packages by method."""

FAMILIES = ("optuna_tpe", "optuna_gp", "smac", "kernel_tuner")
"""Methods that ``--external`` adds, by the beginning of their names."""


def chosen(external: Sequence[str] | None, *, quick: bool) -> list[str]:
    """Methods to run; of those that are asked for and not installed stderr says so."""
    families = () if external is None else tuple(external) or FAMILIES
    wanted = [name for name in NEEDS if name.startswith(families) or (name == "optuna_tpe" and not quick)]
    lacking = {
        name: packages
        for name in wanted
        if (packages := [one for one in NEEDS[name] if importlib.util.find_spec(one) is None])
    }
    for name, packages in lacking.items():
        print(f"{name} is null: not installed: {', '.join(packages)}", file=sys.stderr)
    return [name for name in wanted if name not in lacking]


def searches(
    space: Space, seed: int, method: str, first: Sequence[Settings]
) -> Iterator[tuple[str, list[tuple[Settings, float]]]]:
    """A search, cold and then warm: name and (configuration, cost) in order, each configuration once."""
    warm = f"{method}_warm"
    if method == "smac":
        yield method, _smac(space, seed)
    elif method.startswith("optuna"):
        yield method, _optuna(space, seed, method)
        yield warm, _optuna(space, seed, method, first)
    else:
        cold = _kernel_tuner(space, seed, method.removeprefix("kernel_tuner_"))
        yield method, cold
        order = dict.fromkeys([*first, *(settings for settings, _ in cold)])
        yield warm, [(settings, space.costs[settings]) for settings in order][:CAP]


class _Run:
    """The requests of a tool that knows no listed space, and their results."""

    def __init__(self, space: Space) -> None:
        self.space, self.found = space, dict[Settings, float]()
        self._worst = float(space.sorted[-1])

    @property
    def over(self) -> bool:
        costs = list(self.found.values())
        return len(costs) >= CAP or (bool(costs) and self.space.enough(costs))

    def tell(self, settings: Settings) -> float:
        """Log cost of a configuration, the worst if it failed or is none of the space."""
        cost = self.space.costs.get(settings, math.inf)
        if settings in self.space.costs:
            self.found.setdefault(settings, cost)
        return math.log(cost if math.isfinite(cost) else self._worst)


def _optuna(
    space: Space, seed: int, method: str, first: Sequence[Settings] = ()
) -> list[tuple[Settings, float]]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers = {"optuna_tpe": optuna.samplers.TPESampler, "optuna_gp": optuna.samplers.GPSampler}
    study = optuna.create_study(sampler=samplers[method](seed=seed))
    for settings in first:
        study.enqueue_trial(
            dict(settings)
            if method == "optuna_tpe"
            else {name: list(values).index(settings[name]) for name, values in space.values.items()}
        )
    run = _Run(space)
    for _ in range(ASKED):
        if run.over:
            break
        trial = study.ask()
        settings = Settings(
            {name: trial.suggest_categorical(name, list(values)) for name, values in space.values.items()}
            if method == "optuna_tpe"
            else {
                name: values[trial.suggest_int(name, 0, len(values) - 1)]
                for name, values in space.values.items()
            }
        )
        study.tell(trial, run.tell(settings))
    return list(run.found.items())


def _smac(space: Space, seed: int) -> list[tuple[Settings, float]]:
    from ConfigSpace import ConfigurationSpace, Constant, OrdinalHyperparameter
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue

    declared = ConfigurationSpace(seed=seed)
    for name, values in space.values.items():
        places = range(len(values))
        declared.add(OrdinalHyperparameter(name, places) if len(places) > 1 else Constant(name, 0))
    run = _Run(space)
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            declared, n_trials=ASKED, deterministic=True, seed=seed, output_directory=Path(folder)
        )
        facade = HyperparameterOptimizationFacade(
            scenario,
            lambda config, seed: 0.0,
            # what it would begin with if its budget were told in evaluations that count
            initial_design=HyperparameterOptimizationFacade.get_initial_design(scenario, n_configs=CAP // 4),
            logging_level=False,
        )
        for _ in range(ASKED):
            if run.over:
                break
            asked = facade.ask()
            settings = Settings(
                {name: values[int(asked.config[name])] for name, values in space.values.items()}
            )
            facade.tell(asked, TrialValue(cost=run.tell(settings)), save=False)
    return list(run.found.items())


def _kernel_tuner(space: Space, seed: int, strategy: str) -> list[tuple[Settings, float]]:
    import kernel_tuner

    names = list(space.values)
    points = {tuple(settings[name] for name in names): settings for settings in space.costs}

    def allowed(chosen: dict[str, object]) -> bool:
        return tuple(chosen[name] for name in names) in points

    parameters = {name: list(values) for name, values in space.values.items()}
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  its strategies draw from the global generators
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "space.json"
        cache.write_text(json.dumps(_cache(space, parameters, points)))
        results, _ = kernel_tuner.tune_kernel(
            "kernel", "__global__ void kernel() {}", (1,), [], parameters, lang="CUDA", simulation_mode=True,
            cache=str(cache), restrictions=allowed, strategy=strategy, verbose=False, quiet=True,
            strategy_options={"max_fevals": CAP},
        )  # fmt: skip
    order = dict.fromkeys(points[tuple(result[name] for name in names)] for result in results)
    return [(settings, space.costs[settings]) for settings in order]


def _cache(
    space: Space, parameters: dict[str, list[Any]], points: dict[tuple[Any, ...], Settings]
) -> dict[str, Any]:
    """A space as Kernel Tuner keeps its results; times of compilation are not collected and count nothing."""
    rows = {}
    for point, settings in points.items():
        cost = space.costs[settings]
        row = dict(zip(parameters, point, strict=True))
        for name in (
            "compile_time",
            "verification_time",
            "benchmark_time",
            "strategy_time",
            "framework_time",
        ):
            row[name] = 0
        row["timestamp"] = "2024-01-01 00:00:00+00:00"
        row["time"] = cost * 1e3 if math.isfinite(cost) else "RuntimeFailedConfig"
        if not math.isfinite(cost):
            row["__error__"] = "RuntimeFailedConfig"
        rows[",".join(map(str, point))] = row
    return {
        "device_name": space.device,
        "kernel_name": "kernel",
        "problem_size": [1],
        "tune_params_keys": list(parameters),
        "tune_params": parameters,
        "objective": "time",
        "cache": rows,
    }
