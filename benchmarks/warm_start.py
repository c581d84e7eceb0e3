"""Evaluations that a search needs when it starts from other devices' searches, beside what others need.

``python benchmarks/warm_start.py --known DIR --asked DIR`` reads the exhaustively timed kernel spaces
(``kerneltuner_*``) of both folders. Each asked space is searched with the devices of the known folder that
ran the same kernel as its sources, itself left out. A source is known only through the 200 evaluations of
our own cold search on it, seed for seed. Per space the median over seeds counts, over spaces the geometric
mean; a run that does not come within 5 % in 100 evaluations counts 100, and a failed run costs one.

``score`` is the performance score of the auto-tuning methodology over function evaluations: the mean over
t up to the 95 % cutoff of random search (at most 100) of (random(t) - best(t)) / (random(t) - optimum), in
the metric itself, with random search's expectation in closed form (Willemsen et al., A Methodology for
Comparing Auto-Tuning Optimization Algorithms, 2024). ``harmed`` counts spaces where the median run needs more
evaluations than the cold search beyond the spread of its seeds (three quarters of them need fewer).
A space has a twin if a source's whole table correlates with it above 0.9 (Spearman); only the report knows.

``best_first`` evaluates each source's best in random order, then searches cold; ``rgpe`` is the ranking-weighted
ensemble (Feurer et al. 2018) of our processes. Optuna runs where it is installed. ``--external`` adds slow
others where they are installed. The last line is JSON.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np

from kg.entities import Better, Case, Objective, Status
from kg.hardware_tree import Distance
from kg.values import Settings
from recommender.search.evaluations import Evaluation, SourceTable
from recommender.search.parameters import Parameter, ParameterKind
from recommender.search.search import Search
from recommender.search.space import SearchSpace

CAP = 100
LOG = 200
TWIN = 0.9
SIMILARITY = {
    Distance.SAME_DEVICE: 1.0,
    Distance.SIBLING: 0.95,
    Distance.SAME_ARCHITECTURE: 0.9,
    Distance.SAME_VENDOR: 0.8,
    Distance.OTHER_VENDOR: 0.4,
}
"""What a device is trusted before anything is measured, from its place in the hardware tree; a choice."""

OBJECTIVES = (Objective(metric="kernel_time", better=Better.LOWER),)


@dataclass
class Space:
    """One kernel on one device, timed exhaustively.

    Attributes:
        kernel: Operator.
        device: Id in the hardware tree.
        costs: Seconds by configuration; inf for failures.
    """

    kernel: str
    task: str
    device: str
    costs: dict[Settings, float] = field(default_factory=dict)
    values: dict[str, tuple] = field(default_factory=dict)

    @cached_property
    def space(self) -> SearchSpace:
        def kind(values):
            ordered = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
            return ParameterKind.ORDINAL if ordered else ParameterKind.CATEGORICAL

        parameters = tuple(
            Parameter(name=name, kind=kind(values), values=values) for name, values in self.values.items()
        )
        return SearchSpace(parameters=parameters, listed=tuple(self.costs))

    @cached_property
    def sorted(self) -> np.ndarray:
        found = np.array(list(self.costs.values()))
        return np.sort(np.where(np.isfinite(found), found, found[np.isfinite(found)].max()))

    @property
    def best(self) -> float:
        return float(self.sorted[0])

    @cached_property
    def random(self) -> np.ndarray:
        """Expected best of t random configurations without replacement, t = 1 to CAP."""
        n = len(self.sorted)
        chance, found = np.ones(n), []
        for t in range(1, CAP + 1):
            # P(the best of t is at least the k-th) = C(n - k, t) / C(n, t), built up factor by factor.
            chance = chance * np.maximum(n - np.arange(n) - t + 1, 0) / (n - t + 1)
            found.append(float((self.sorted * (chance - np.append(chance[1:], 0.0))).sum()))
        return np.array(found)

    @cached_property
    def cutoff(self) -> int:
        middle = float(np.median(self.sorted))
        share = (middle - self.random) / max(middle - self.best, 1e-300)
        reached = np.flatnonzero(share >= 0.95)
        return int(reached[0]) + 1 if len(reached) else CAP

    def score(self, costs: list[float]) -> float:
        """Performance score of a run; failures count as the worst of the space."""
        found = np.array([c if math.isfinite(c) else self.sorted[-1] for c in costs])
        reached = np.minimum.accumulate(found)
        reached = np.append(reached, np.full(max(self.cutoff - len(reached), 0), reached[-1]))[: self.cutoff]
        random = self.random[: self.cutoff]
        return float(np.mean((random - reached) / np.maximum(random - self.best, 1e-300)))

    def within(self, costs: list[float], share: float) -> int:
        """Evaluations to within a share of the optimum; CAP for a miss."""
        for t, cost in enumerate(costs[:CAP]):
            if cost <= self.best * (1 + share):
                return t + 1
        return CAP + 1

    def enough(self, costs: list[float]) -> bool:
        """Whether more evaluations change no figure."""
        least = min(costs)
        return len(costs) >= CAP or (
            least <= self.best * 1.05 and (least <= self.best or len(costs) >= self.cutoff)
        )


def load(folder: Path, names) -> list[Space]:
    from ingest.reading import read

    spaces: dict[str, Space] = {}
    for path in sorted(folder.glob("kerneltuner_*.jsonl*")):
        for item in read([path], names):
            if not isinstance(item, Case) or item.problem.objective.metric != OBJECTIVES[0].metric:
                continue
            problem = item.problem
            space = spaces.setdefault(
                problem.id, Space(problem.workload.operator, problem.task_id, problem.hardware.name)
            )
            value = item.measurement.value
            ok = item.measurement.status is Status.OK and value is not None
            space.costs[item.configuration] = value if ok else math.inf
    return [space for space in spaces.values() if np.isfinite(list(space.costs.values())).sum() > 500]


def share_values(spaces: list[Space]) -> None:
    """Give all devices of a task the same parameters; those with one value are no parameters."""
    by_task = defaultdict(list)
    for space in spaces:
        by_task[space.task].append(space)
    for group in by_task.values():
        seen: dict[str, set] = defaultdict(set)
        for space in group:
            for settings in space.costs:
                for name, value in settings.items():
                    seen[name].add(value)
        for space in group:
            space.values = {
                name: tuple(sorted(values, key=lambda v: (isinstance(v, str), v)))
                for name, values in sorted(seen.items())
            }


def evaluation(space: Space, settings: Settings) -> Evaluation:
    cost = space.costs[settings]
    if math.isfinite(cost):
        return Evaluation(configuration=settings, values=(cost,))
    return Evaluation(configuration=settings, values=(None,), status=Status.FAILED)


def run(space: Space, search: Search, count: int, first: list[Settings] = (), *, whole: bool = False) -> list:
    """Evaluate until the figures are known; (configuration, cost) in order."""
    found = []
    for settings in first:
        search.tell(evaluation(space, settings))
        found.append((settings, space.costs[settings]))
    while len(found) < count and (whole or not found or not space.enough([c for _, c in found])):
        asked = search.ask()
        if not asked:
            break
        settings = asked[0].configuration
        search.tell(evaluation(space, settings), asked[0].number)
        found.append((settings, space.costs[settings]))
    assert len({settings for settings, _ in found}) == len(found), "a configuration was proposed twice"
    return found


def table(source: Space, log: list, similarity: float) -> SourceTable:
    return SourceTable(
        name=source.device,
        similarity=similarity,
        configurations=[settings for settings, _ in log],
        costs=np.array([cost for _, cost in log]),
    )


def best_of(space: Space, log: list) -> list[Settings]:
    """The best of a log that exists in a space."""
    ranked = sorted((cost, i) for i, (_, cost) in enumerate(log) if math.isfinite(cost))
    return [log[i][0] for _, i in ranked if log[i][0] in space.costs][:1]


def spearman(a: Space, b: Space) -> float:
    common = [s for s, c in a.costs.items() if math.isfinite(c) and math.isfinite(b.costs.get(s, math.inf))]
    if len(common) < 100:
        return 0.0
    ranks = [np.argsort(np.argsort([space.costs[s] for s in common])) for space in (a, b)]
    return float(np.corrcoef(*ranks)[0, 1])


# --- other methods


def best_first(space: Space, logs: list, seed: int) -> list:
    rng = np.random.default_rng([seed, 5])
    first: list[Settings] = []
    for k in rng.permutation(len(logs)):
        first += [s for s in best_of(space, logs[k]) if s not in first]
    return run(space, Search(space=space.space, objectives=OBJECTIVES, seed=seed), CAP, first)


def at_random(space: Space, seed: int) -> list:
    settings = list(space.costs)
    order = np.random.default_rng([seed, 6]).permutation(len(settings))[:CAP]
    return [(settings[i], space.costs[settings[i]]) for i in order]


def optuna_search(space: Space, seed: int, kind: str) -> list:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers = {"optuna_tpe": optuna.samplers.TPESampler, "optuna_gp": optuna.samplers.GPSampler}
    study = optuna.create_study(sampler=samplers[kind](seed=seed))
    found: dict[Settings, float] = {}
    worst = float(space.sorted[-1])
    for _ in range(20 * CAP):
        if len(found) >= CAP or (found and space.enough(list(found.values()))):
            break
        trial = study.ask()
        settings = Settings(
            {name: trial.suggest_categorical(name, list(values)) for name, values in space.values.items()}
            if kind == "optuna_tpe"
            else {
                name: values[trial.suggest_int(name, 0, len(values) - 1)]
                for name, values in space.values.items()
            }
        )
        cost = space.costs.get(settings, math.inf)
        if settings in space.costs:
            found.setdefault(settings, cost)  # asking again and asking for the impossible are free
        study.tell(trial, math.log(cost if math.isfinite(cost) else worst))
    return list(found.items())


def smac_search(space: Space, seed: int) -> list:
    from ConfigSpace import Configuration, ConfigurationSpace, OrdinalHyperparameter
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue

    declared = ConfigurationSpace(seed=seed)
    for name, values in space.values.items():
        declared.add(OrdinalHyperparameter(name, list(values)))
    scenario = Scenario(declared, n_trials=20 * CAP, deterministic=True, seed=seed)
    facade = HyperparameterOptimizationFacade(
        scenario, lambda c, seed: 0.0, overwrite=True, logging_level=False
    )
    found: dict[Settings, float] = {}
    for _ in range(20 * CAP):
        if len(found) >= CAP or (found and space.enough(list(found.values()))):
            break
        info = facade.ask()
        assert isinstance(info.config, Configuration)
        settings = Settings(dict(info.config))
        cost = space.costs.get(settings, math.inf)
        if settings in space.costs:
            found.setdefault(settings, cost)
        facade.tell(info, TrialValue(cost=math.log(cost if math.isfinite(cost) else float(space.sorted[-1]))))
    return list(found.items())


def rgpe(space: Space, sources: list[SourceTable], seed: int) -> list:
    """Ranking-weighted ensemble: sources and target weighted by how often each ranks the results best."""
    from recommender.search.acquisition import log_expected_improvement
    from recommender.search.candidates import Candidates
    from recommender.search.mixture import Mixture
    from recommender.search.transfer import learn

    rng = np.random.default_rng([seed, 8])
    pool = Candidates(space.space, rng)
    models = [m for s in sources if (m := learn(space.space, s)) is not None]
    predicted = np.stack([m.predict(pool.features) for m in models], axis=1)
    predicted = predicted / np.maximum(predicted.std(axis=0), 1e-9)
    target = Mixture(
        features=pool.features,
        groups=space.space.groups,
        predictions=np.zeros((len(pool), 0)),
        shares=np.zeros(0),
    )
    found: list = []
    rows: list[int] = []
    costs: list[float] = []
    while len(found) < CAP and (not found or not space.enough([c for _, c in found])):
        weights = np.full(len(models) + 1, 1 / len(models))
        weights[-1] = 0.0
        seen = np.array(costs)
        ran = np.isfinite(seen)
        if ran.sum() >= 3:
            y = np.where(ran, seen, seen[ran].max())
            weights = _rgpe_weights(predicted[rows], target, rows, y, rng)
        scale = max(float(seen[ran].std()), 0.05) if ran.any() else 1.0
        mean = predicted @ weights[:-1]
        std = np.full(len(pool), 0.3)
        if ran.any():
            mean = mean + weights[-1] * (target.mean - seen[ran].mean()) / scale
            std = np.sqrt(weights[-1] ** 2 * target.variance / scale**2 + (1 - weights[-1]) * 0.05)
            score = log_expected_improvement(mean, np.maximum(std, 1e-6), float(mean[rows].min()))
        else:
            score = -mean
        row = int(np.argmax(np.where(pool.open, score, -np.inf)))
        settings = pool.configuration(row)
        pool.open[row] = False
        rows.append(row)
        costs.append(math.log(space.costs[settings]) if math.isfinite(space.costs[settings]) else math.inf)
        target.tell(row, costs[-1])
        found.append((settings, space.costs[settings]))
    return found


def _rgpe_weights(predicted, target, rows, y, rng) -> np.ndarray:
    """Share of 64 bootstrap draws in which a model misranks the fewest pairs; the target left one out."""
    models = predicted.shape[1]
    order = y[:, None] < y[None, :]
    wrong = [(predicted[:, None, s] < predicted[None, :, s]) != order for s in range(models)]
    own = target.mean[rows] + np.sqrt(target.variance[rows]) * rng.standard_normal(len(rows))
    noisy = own + 0.3 * y.std() * rng.standard_normal(len(rows))  # stands in for leaving one out
    wrong.append((noisy[:, None] < noisy[None, :]) != order)
    votes = np.zeros(models + 1)
    for _ in range(64):
        drawn = rng.integers(len(y), size=len(y))
        lost = np.array([w[np.ix_(drawn, drawn)].sum() for w in wrong])
        least = np.flatnonzero(lost == lost.min())
        votes[rng.choice(least)] += 1
    return votes / votes.sum()


# --- adversaries


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


# --- figures


def figures(
    runs: dict[int, list[list]], spaces: list[Space], kept, cold: dict[int, list[list]]
) -> dict | None:
    """The figures of one method over the spaces ``kept``; None without any."""
    kept = [k for k in kept if k in runs]
    if not kept:
        return None
    medians, scores, hits, harmed, every = [], [], defaultdict(list), 0, []
    for k in kept:
        space = spaces[k]
        costs = [[c for _, c in log] for log in runs[k]]
        five = [min(space.within(c, 0.05), CAP) for c in costs]
        medians.append(float(np.median(five)))
        every += five
        scores.append(float(np.mean([space.score(c) for c in costs])))
        for name, share, limit in (
            ("hit5_at_10", 0.05, 10),
            ("hit5_at_20", 0.05, 20),
            ("hit10_at_20", 0.1, 20),
        ):
            hits[name].append(np.mean([space.within(c, share) <= limit for c in costs]))
        before = [min(space.within([c for _, c in log], 0.05), CAP) for log in cold[k]]
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--known", type=Path, required=True)
    parser.add_argument("--asked", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=0, help="10; with --quick 2")
    parser.add_argument("--quick", action="store_true", help="no ensemble, no adversaries, no Optuna")
    parser.add_argument("--external", action="store_true", help="also Optuna's GP and SMAC, two seeds each")
    parser.add_argument("--kernels", default="", help="only kernels whose name holds this")
    arguments = parser.parse_args()
    from world import knowledge

    tree = knowledge()
    same = arguments.known.resolve() == arguments.asked.resolve()
    known = load(arguments.known, tree.names)
    asked = known if same else load(arguments.asked, tree.names)
    known, asked = ([s for s in spaces if arguments.kernels in s.kernel] for spaces in (known, asked))
    share_values(known if same else [*known, *asked])
    pairs = {
        k: [s for s in known if s.task == space.task and s.device != space.device]
        for k, space in enumerate(asked)
    }
    pairs = {k: sources for k, sources in pairs.items() if sources}
    seeds = range(arguments.seeds or (2 if arguments.quick else 10))
    start = time.process_time()
    logs: dict[tuple[int, int], list] = {}

    def cold(space: Space, seed: int, count: int) -> list:
        key = (id(space), seed)
        if key not in logs or len(logs[key]) < count:
            search = Search(space=space.space, objectives=OBJECTIVES, seed=seed)
            logs[key] = run(space, search, min(count, len(space.costs)), whole=True)
        return logs[key]

    results: dict[str, dict[int, list[list]]] = defaultdict(lambda: defaultdict(list))
    cpu: dict[str, list[float]] = defaultdict(list)
    twin = {}
    for k, sources in pairs.items():
        space = asked[k]
        twin[k] = max(spearman(space, source) for source in sources) > TWIN
        for seed in seeds:
            source_logs = [cold(source, seed, LOG) for source in sources]
            tables = [
                table(source, log, SIMILARITY[tree.distance(space.device, source.device)])
                for source, log in zip(sources, source_logs, strict=True)
            ]
            results["cold_gp"][k].append(cold(space, seed, LOG if space in known else CAP)[:CAP])
            at = time.process_time()
            ours = run(
                space, Search(space=space.space, objectives=OBJECTIVES, sources=tables, seed=seed), CAP
            )
            cpu[f"{len(space.costs)}"].append((time.process_time() - at) * 1e3 / len(ours))
            results["ours"][k].append(ours)
            results["best_first"][k].append(best_first(space, source_logs, seed))
            results["random"][k].append(at_random(space, seed))
            if arguments.quick:
                continue
            results["rgpe"][k].append(rgpe(space, tables, seed))
            if seed < 2 and importlib.util.find_spec("optuna"):
                results["optuna_tpe"][k].append(optuna_search(space, seed, "optuna_tpe"))
                if arguments.external and importlib.util.find_spec("torch"):
                    results["optuna_gp"][k].append(optuna_search(space, seed, "optuna_gp"))
            if arguments.external and seed < 2 and importlib.util.find_spec("smac"):
                results["smac"][k].append(smac_search(space, seed))
            if seed < 5:
                foreign = next((asked[j] for j in pairs if asked[j].task != space.task), None)
                other = None if foreign is None else table(foreign, cold(foreign, seed, LOG), 0.8)
                for kind in ("reversed", "shuffled", "other_kernel"):
                    wrong = [adverse(kind, t, other, seed) for t in tables]
                    search = Search(
                        space=space.space, objectives=OBJECTIVES, sources=[t for t in wrong if t], seed=seed
                    )
                    results[kind][k].append(run(space, search, CAP))
        shown = {
            name: [min(space.within([c for _, c in log], 0.05), CAP) for log in runs[k]]
            for name, runs in results.items()
            if k in runs
        }
        print(f"{space.kernel} / {space.device}  n={len(space.costs)}  twin={'yes' if twin[k] else 'no'}")
        for name, five in shown.items():
            scores = [space.score([c for _, c in log]) for log in results[name][k]]
            print(
                f"    {name:<13} to 5 %: median {np.median(five):5.1f}  "
                f"[{min(five)}, {max(five)}]  score {np.mean(scores):6.3f}",
                flush=True,
            )
    report: dict[str, object] = {
        name: figures(runs, asked, pairs, results["cold_gp"]) for name, runs in results.items()
    }
    report["ours_twin"] = figures(results["ours"], asked, [k for k in pairs if twin[k]], results["cold_gp"])
    report["ours_no_twin"] = figures(
        results["ours"], asked, [k for k in pairs if not twin[k]], results["cold_gp"]
    )
    first_five = {k: runs[:5] for k, runs in results["cold_gp"].items()}
    report["cold_gp_first_seeds"] = figures(first_five, asked, pairs, results["cold_gp"])
    most = max(cpu, key=int)
    report["cpu_ms_per_suggestion"] = round(float(np.mean(cpu[most])), 2)
    report["cpu_candidates"] = int(most)
    report["cpu_s"] = round(time.process_time() - start, 1)
    report["seeds"] = len(seeds)
    columns = (
        "evals_to_5_geomean",
        "evals_to_5_runs",
        "hit5_at_10",
        "hit5_at_20",
        "hit10_at_20",
        "score_mean",
    )
    print(f"\n{'':<20}" + "".join(f"{c:>20}" for c in (*columns, "score_worst", "harmed")))
    for name, row in report.items():
        if isinstance(row, dict):
            print(f"{name:<20}" + "".join(f"{row[c]:>20}" for c in (*columns, "score_worst", "harmed")))
    print(json.dumps(report))


if __name__ == "__main__":
    main()
