"""Our search inside Optuna."""

from __future__ import annotations

from typing import Any

import pytest

from recommender.space.constraint import Constraint

optuna = pytest.importorskip("optuna")


def test_optuna_optimises_with_it_and_samples_nothing_twice_or_forbidden() -> None:
    from recommender.search.bridges.optuna_sampler import SearchSampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    declared = {
        "k": optuna.distributions.IntDistribution(1, 40),
        "c": optuna.distributions.CategoricalDistribution(["a", "b"]),
    }
    sampler = SearchSampler(declared, constraints=[Constraint(expression="k % 2 == 0")], seed=1)
    study = optuna.create_study(sampler=sampler, direction="maximize")

    def objective(trial: Any) -> float:
        k, c = trial.suggest_int("k", 1, 40), trial.suggest_categorical("c", ["a", "b"])
        assert k % 2 == 0
        if k > 34:
            raise optuna.TrialPruned
        return float(100 / (1 + abs(k - 20) + (c == "a")))

    study.optimize(objective, n_trials=18)
    assert study.best_params == {"k": 20, "c": "b"}
    assert len({tuple(trial.params.items()) for trial in study.trials}) == 18


def test_trials_that_run_elsewhere_are_not_proposed_again() -> None:
    from recommender.search.bridges.optuna_sampler import SearchSampler

    declared = {"k": optuna.distributions.IntDistribution(1, 6)}
    study = optuna.create_study(sampler=SearchSampler(declared, seed=0))
    running = [study.ask(declared) for _ in range(6)]
    assert {trial.params["k"] for trial in running} == {1, 2, 3, 4, 5, 6}
