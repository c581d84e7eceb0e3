"""Our sampler inside Optuna, beside Optuna's own: regret of define-by-run studies, repeats, threads.

Regret of a study is how far its best lies above the optimum, in units of how far the median of random
configurations does; the toys are functions in common use and four with conditions, choices and steps.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import optuna

from benchmarks import harness
from recommender.search.bridges.optuna_sampler import SearchSampler

LEAST = 1e-4
"""Regret below which studies count as equal: a hundredth of a percent of what chance misses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toy:
    """An objective to minimise.

    Attributes:
        name: What to call it.
        objective: Of a trial.
        optimum: Its least value.
    """

    name: str
    objective: Callable[[optuna.Trial], float]
    optimum: float


def branin(trial: optuna.Trial) -> float:
    x, y = trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)
    bowl = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return bowl**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def ellipsoid(trial: optuna.Trial) -> float:
    return float(sum(10**k * (trial.suggest_float(f"x{k}", -5, 5) - 0.7 * k) ** 2 for k in range(4)))


def rosenbrock(trial: optuna.Trial) -> float:
    x, y = trial.suggest_float("x", -2, 2), trial.suggest_float("y", -1, 3)
    return 100 * (y - x**2) ** 2 + (1 - x) ** 2


def rates(trial: optuna.Trial) -> float:
    """A learning rate, a width and a share, as trainings have them."""
    rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
    width = trial.suggest_int("width", 16, 1024, log=True)
    share = trial.suggest_float("share", 0, 0.9, step=0.1)
    return math.log10(rate / 3e-3) ** 2 + 0.5 * math.log2(width / 200) ** 2 / 4 + (share - 0.2) ** 2


def kernel(trial: optuna.Trial) -> float:
    """Tiles, warps and stages of a kernel whose time is a product."""
    m, n = trial.suggest_int("m", 4, 8), trial.suggest_int("n", 4, 8)
    warps, stages = trial.suggest_categorical("warps", [1, 2, 4, 8]), trial.suggest_int("stages", 1, 5)
    form = trial.suggest_categorical("form", ["row", "column", "split"])
    tile = 1 + 0.25 * abs(m - 7) + 0.2 * abs(n - 6) + 0.3 * abs(m - n) / 2
    room = 3.0 if 2 ** (m + n) * stages > 2**16 else 1.0
    return (
        tile * room * (1 + 0.3 * abs(math.log2(warps / 4))) * {"row": 1.0, "column": 1.3, "split": 1.15}[form]
    )


def branches(trial: optuna.Trial) -> float:
    """Two branches with parameters of their own."""
    if trial.suggest_categorical("kind", ["tree", "net"]) == "tree":
        depth, leaves = trial.suggest_int("depth", 1, 12), trial.suggest_int("leaves", 1, 64, log=True)
        return 1 + 0.05 * (depth - 7) ** 2 + 0.3 * math.log2(leaves / 8) ** 2
    rate = trial.suggest_float("rate", 1e-4, 1, log=True)
    return 0.2 + math.log10(rate / 0.02) ** 2 + 0.4 * abs(trial.suggest_float("drop", 0, 0.8) - 0.3)


def layers(trial: optuna.Trial) -> float:
    """A number of layers, and a width for each."""
    count = trial.suggest_int("layers", 1, 3)
    loss = [(math.log2(trial.suggest_int(f"width{k}", 8, 512, log=True)) - 6 + k) ** 2 for k in range(count)]
    return sum(loss) / count + 0.5 * (count - 2) ** 2


TOYS = (
    Toy(name="branin", objective=branin, optimum=0.397887),
    Toy(name="ellipsoid", objective=ellipsoid, optimum=0.0),
    Toy(name="rosenbrock", objective=rosenbrock, optimum=0.0),
    Toy(name="rates", objective=rates, optimum=0.0),
    Toy(name="kernel", objective=kernel, optimum=1.15),
    Toy(name="branches", objective=branches, optimum=0.2),
    Toy(name="layers", objective=layers, optimum=0.0),
)

SAMPLERS: dict[str, Callable[[int], optuna.samplers.BaseSampler]] = {
    "ours": lambda seed: SearchSampler(seed=seed),
    "tpe": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
}


def study_of(
    toy: Toy, sampler: optuna.samplers.BaseSampler, trials: int, *, added: float = 0.0, threads: int = 1
) -> optuna.Study:
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: toy.objective(trial) + added, n_trials=trials, n_jobs=threads)
    return study


def repeats(study: optuna.Study) -> int:
    return len(study.trials) - len({tuple(sorted(trial.params.items())) for trial in study.trials})


def regrets(seeds: range, trials: int) -> dict[str, dict[str, float]]:
    """Geometric mean of the regret over seeds, by toy and sampler."""
    found: dict[str, dict[str, float]] = {}
    for toy in TOYS:
        drawn = study_of(toy, optuna.samplers.RandomSampler(seed=10**6), 400).get_trials(deepcopy=False)
        unit = float(np.median([trial.value for trial in drawn])) - toy.optimum
        rows = {name: [(name, 0.0, seed) for seed in seeds] for name in SAMPLERS}
        rows["ours, f - 5"] = [("ours", -5.0, seed) for seed in seeds]
        found[toy.name] = {}
        for label, runs in rows.items():
            logs = []
            for name, added, seed in runs:
                study = study_of(toy, SAMPLERS[name](seed), trials, added=added)
                logs.append(math.log(max((study.best_value - added - toy.optimum) / unit, LEAST)))
            found[toy.name][label] = math.exp(float(np.mean(logs)))
        print(
            f"{toy.name:11}" + "".join(f"{label:>13}{value:8.4f}" for label, value in found[toy.name].items())
        )
    return found


def runs_with_threads(runs: range, trials: int) -> dict[str, dict[str, int]]:
    """Studies that completed every trial, and repeats in all of them, by the number of threads."""
    found = {}
    for threads in (1, 2, 4, 8):
        complete = again = 0
        for run in runs:
            study = study_of(TOYS[4 + run % 3], SearchSampler(seed=run), trials, threads=threads)
            ended = study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))
            complete += len(ended) == trials
            again += repeats(study)
        found[str(threads)] = {"complete": complete, "runs": len(runs), "repeats": again}
        print(f"{threads} threads: all trials in {complete} of {len(runs)} runs, {again} repeats")
    return found


def main() -> None:
    """Run the benchmark."""
    given = harness.read(
        __doc__,
        harness.option("--seeds", type=int, default=10, help="studies of each toy and sampler"),
        harness.option("--trials", type=int, default=40, help="trials of each study"),
        harness.option("--runs", type=int, default=20, help="studies for each number of threads"),
        quick="two seeds, four runs, 20 trials",
    )
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seeds, runs, trials = (2, 4, 20) if given.quick else (given.seeds, given.runs, given.trials)
    table = regrets(given.seed_range(seeds), trials)
    labels = [*SAMPLERS, "ours, f - 5"]
    means = {
        label: round(math.exp(float(np.mean([math.log(row[label]) for row in table.values()]))), 5)
        for label in labels
    }
    print("all".ljust(11) + "".join(f"{label:>13}{value:8.4f}" for label, value in means.items()))
    threads = runs_with_threads(given.seed_range(runs), trials)
    given.last_line(
        {"trials": trials, "seeds": seeds, "regret": means, "threads": threads}, n=len(TOYS) * seeds
    )


if __name__ == "__main__":
    main()
