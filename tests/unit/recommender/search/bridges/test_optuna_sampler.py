"""Our search inside Optuna: what Optuna's users expect of a sampler, in this process, in threads and beside others."""

import logging
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kg.errors import InputError
from kg.nouns.values import Settings
from recommender.search.evaluations import SourceTable
from recommender.space.constraint import Constraint

optuna = pytest.importorskip("optuna")

ROOT = Path(__file__).resolve().parents[5]


@pytest.fixture(autouse=True)
def quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def sampler(*args: Any, **options: Any) -> Any:
    from recommender.search.bridges.optuna_sampler import SearchSampler

    return SearchSampler(*args, **options)


def ran(study: Any) -> list[Any]:
    return [trial for trial in study.trials if trial.state == optuna.trial.TrialState.COMPLETE]


def different(study: Any) -> int:
    return len({tuple(sorted(trial.params.items())) for trial in study.trials})


def grid(trial: Any) -> float:
    """192 configurations, best at (6, 4, "b"): 0."""
    m, n, c = (
        trial.suggest_int("m", 1, 8),
        trial.suggest_int("n", 1, 8),
        trial.suggest_categorical("c", "abc"),
    )
    return float(abs(m - 6) + abs(n - 4) + (c != "b"))


def test_optuna_optimises_with_it_and_samples_nothing_twice_or_forbidden() -> None:
    declared = {
        "k": optuna.distributions.IntDistribution(1, 40),
        "c": optuna.distributions.CategoricalDistribution(["a", "b"]),
    }
    study = optuna.create_study(
        sampler=sampler(declared, constraints=[Constraint(expression="k % 2 == 0")], seed=1),
        direction="maximize",
    )

    def objective(trial: Any) -> float:
        k, c = trial.suggest_int("k", 1, 40), trial.suggest_categorical("c", ["a", "b"])
        assert k % 2 == 0
        if k > 34:
            raise optuna.TrialPruned
        return float(100 / (1 + abs(k - 20) + (c == "a")))

    study.optimize(objective, n_trials=18)
    assert study.best_params == {"k": 20, "c": "b"}
    assert different(study) == 18


def test_trials_that_run_elsewhere_are_not_proposed_again() -> None:
    declared = {"k": optuna.distributions.IntDistribution(1, 6)}
    study = optuna.create_study(sampler=sampler(declared, seed=0))
    running = [study.ask(declared) for _ in range(6)]
    assert {trial.params["k"] for trial in running} == {1, 2, 3, 4, 5, 6}


def test_a_constraint_on_something_else_is_refused_before_the_study() -> None:
    declared = {"k": optuna.distributions.IntDistribution(1, 6)}
    with pytest.raises(InputError, match="speaks of 'j'"):
        sampler(declared, constraints=[Constraint(expression="j < 3")])


# -- define by run ---------------------------------------------------------------------------------


def test_a_space_that_nobody_declared_is_searched_without_repeats() -> None:
    study = optuna.create_study(sampler=sampler(seed=3))
    study.optimize(grid, n_trials=30)
    assert different(study) == 30
    assert study.best_value == 0


def test_a_space_is_used_up_before_anything_is_tried_twice() -> None:
    study = optuna.create_study(sampler=sampler(seed=0))
    study.optimize(lambda trial: trial.suggest_int("k", 1, 5), n_trials=7)
    assert sorted(trial.params["k"] for trial in study.trials[:5]) == [1, 2, 3, 4, 5]
    assert len(ran(study)) == 7


def branching(trial: Any) -> float:
    if trial.suggest_categorical("kind", ["tree", "net"]) == "tree":
        return float(3 + abs(trial.suggest_int("depth", 1, 30) - 20))
    width = trial.suggest_int("layers.count", 1, 3)
    return float(sum(abs(trial.suggest_int(f"width{k}", 1, 30) - 9) for k in range(width)) + width)


def test_conditions_are_read_off_the_trials() -> None:
    study = optuna.create_study(sampler=sampler(seed=2))
    study.optimize(branching, n_trials=26)
    proposed = [set(trial.system_attrs["tunegraph:proposal"]) for trial in study.trials[13:]]
    suggested = [set(trial.params) for trial in study.trials[13:]]
    assert proposed == suggested
    assert study.best_value <= 5


def test_a_space_that_changes_between_trials_is_followed() -> None:
    study = optuna.create_study(sampler=sampler(seed=0))
    for low, high in ((0, 10), (0, 20), (30, 40), (4, 6)):
        study.optimize(
            lambda trial, low=low, high=high: (trial.suggest_float("x", low, high) - 5) ** 2 + trial.suggest_int("y", low, high),
            n_trials=6,
        )  # fmt: skip
    study.optimize(lambda trial: trial.suggest_float("z", 0, 1), n_trials=3)
    assert len(ran(study)) == 27
    assert [set(trial.params) for trial in study.trials[-3:]] == [{"z"}] * 3


def test_choices_that_are_no_values_are_searched() -> None:
    choices = [None, float("nan"), "none", True, 2]
    study = optuna.create_study(sampler=sampler(seed=0))
    study.optimize(lambda trial: float(choices.index(trial.suggest_categorical("c", choices))), n_trials=5)
    assert {id(trial.params["c"]) for trial in study.trials} == {id(choice) for choice in choices}


# -- objectives ------------------------------------------------------------------------------------


def test_nothing_depends_on_what_is_added_to_the_objective_or_multiplies_it() -> None:
    tried = []
    for times, plus, way in ((1, 0, "minimize"), (1, -5, "minimize"), (-1000, 3e6, "maximize")):
        study = optuna.create_study(sampler=sampler(seed=4), direction=way)
        study.optimize(lambda trial, times=times, plus=plus: times * grid(trial) + plus, n_trials=18)
        tried.append([trial.params for trial in study.trials])
    assert tried[0] == tried[1] == tried[2]


def test_equal_huge_and_infinite_values_end_no_study() -> None:
    for values in ([1.0, 1.0, 1.0], [1e300, -1e300, 0.0], [float("inf"), -float("inf"), 2.0, float("nan")]):
        study = optuna.create_study(sampler=sampler(seed=0))
        study.optimize(
            lambda trial, values=values: (
                trial.suggest_float("x", 0, 1) * 0 + values[trial.number % len(values)]
            ),
            n_trials=16,
        )
        assert len(study.trials) == 16


def test_two_objectives_of_any_sign_reach_both_ends() -> None:
    study = optuna.create_study(sampler=sampler(seed=0), directions=["minimize", "maximize"])

    def objective(trial: Any) -> tuple[float, float]:
        k, waste = trial.suggest_int("k", -10, 10), trial.suggest_int("waste", 0, 20)
        return k + waste - 3.0, k - waste * 2.0

    study.optimize(objective, n_trials=30)
    front = {trial.params["k"] for trial in study.best_trials}
    assert {trial.params["waste"] for trial in study.best_trials} == {0}
    assert min(front) <= -7
    assert max(front) >= 7


def test_pruned_trials_teach_with_what_they_reported() -> None:
    """Half of the range is pruned at its first report, which tells that it is bad there."""
    study = optuna.create_study(
        sampler=sampler(seed=0), pruner=optuna.pruners.MedianPruner(n_startup_trials=3)
    )

    def objective(trial: Any) -> float:
        x = trial.suggest_float("x", -10, 10)
        for step in range(3):
            trial.report((x - 4) ** 2 + 10 - 5 * step, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return float((x - 4) ** 2)

    study.optimize(objective, n_trials=30)
    pruned = [trial for trial in study.trials if trial.state == optuna.trial.TrialState.PRUNED]
    assert len(pruned) > 3
    _, search = study.sampler._search
    evaluations = {item.configuration["x"]: item for item in search._search.evaluations}
    for trial in (trial for trial in pruned if trial.number < 29):  # the last is told when the next asks
        evaluation = evaluations[trial.params["x"]]
        expected = search._scales[0].log_cost((trial.params["x"] - 4) ** 2)
        assert evaluation.ok
        assert np.log(evaluation.values[0]) == pytest.approx(expected, abs=1e-6)
    assert study.best_value < 0.05


# -- sources ---------------------------------------------------------------------------------------


def source(distance: float = 0.0) -> SourceTable:
    points = [Settings({"k": k}) for k in range(1, 41)]
    return SourceTable(
        name="sibling",
        similarity=0.9,
        configurations=points,
        costs=np.array([1.0 + abs(point["k"] - 20 - distance) for point in points]),  # type: ignore[operator]
    )


def test_a_similar_problem_gives_the_first_trial() -> None:
    declared = {"k": optuna.distributions.IntDistribution(1, 40)}
    study = optuna.create_study(sampler=sampler(declared, sources=[source()]))
    study.optimize(lambda trial: 2.0 + abs(trial.suggest_int("k", 1, 40) - 20), n_trials=1)
    assert study.best_params == {"k": 20}


def test_an_objective_without_a_ratio_to_the_sources_goes_on_without_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    declared = {"k": optuna.distributions.IntDistribution(1, 40)}
    study = optuna.create_study(sampler=sampler(declared, sources=[source()], seed=0))
    with caplog.at_level(logging.WARNING):
        study.optimize(lambda trial: abs(trial.suggest_int("k", 1, 40) - 33) - 7.0, n_trials=20)
    assert [record.message for record in caplog.records].count(caplog.records[0].message) == 1
    assert "goes on without them" in caplog.text
    assert study.best_params == {"k": 33}
    assert different(study) == 20


# -- threads, processes, other samplers ------------------------------------------------------------


@pytest.mark.parametrize("threads", [2, 4, 8])
def test_threads_complete_every_trial_and_repeat_none(threads: int) -> None:
    study = optuna.create_study(sampler=sampler(seed=threads))
    study.optimize(grid, n_trials=24, n_jobs=threads)
    assert len(ran(study)) == 24
    assert different(study) == 24


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("is_first", [True, False])
def test_a_draw_that_is_not_written_yet_and_a_proposal_are_never_alike(*, seed: int, is_first: bool) -> None:
    """Three values: one has ended, one is drawn by a thread that began before, one is proposed to another."""
    way = optuna.distributions.IntDistribution(1, 3)
    study = optuna.create_study(sampler=sampler(seed=seed))
    ended, begun = study.ask(), study.ask()
    assert begun.relative_params == {}  # nothing has ended: it will be drawn at random
    study.tell(ended, float(ended.suggest_int("k", 1, 3)))
    blank = study.get_trials()[1]
    if is_first:  # the thread that began before has drawn, and has not written what it drew
        drawn = study.sampler.sample_independent(study, blank, "k", way)
        proposed = study.ask().suggest_int("k", 1, 3)
    else:  # the proposal is made, and none of its parameters is written
        later = study.ask()
        assert set(later.relative_params) == {"k"}
        drawn = begun.suggest_int("k", 1, 3)
        proposed = later.suggest_int("k", 1, 3)
    assert {ended.params["k"], drawn, proposed} == {1, 2, 3}


def test_two_samplers_that_choose_at_the_same_moment_choose_differently() -> None:
    """Two processes with one seed read the same study, and both propose before either has written."""
    declared = {
        "k": optuna.distributions.IntDistribution(1, 9),
        "c": optuna.distributions.IntDistribution(1, 9),
    }
    storage = optuna.storages.InMemoryStorage()
    left = optuna.create_study(storage=storage, study_name="s", sampler=sampler(declared, seed=1))
    right = optuna.load_study(storage=storage, study_name="s", sampler=sampler(declared, seed=1))
    for _ in range(6):
        studies = (left, right)
        blank = [storage.get_trial(storage.create_new_trial(left._study_id)) for _ in studies]
        seen = [study.get_trials(deepcopy=False) for study in studies]
        proposed = []
        for study, trial, trials in zip(studies, blank, seen, strict=True):
            reads = iter([trials])  # the first reading is from before the other wrote
            whole = study.get_trials
            study.get_trials = lambda whole=whole, reads=reads, **options: (
                next(reads, None) or whole(**options)
            )
            proposed.append(study.sampler.sample_relative(study, trial, declared))
            study.get_trials = whole
        assert proposed[0] != proposed[1]
        for trial, params in zip(blank, proposed, strict=True):
            for name, distribution in declared.items():
                storage.set_trial_param(trial._trial_id, name, params[name], distribution)
            storage.set_trial_state_values(
                trial._trial_id, optuna.trial.TrialState.COMPLETE, [float(params["k"] + params["c"])]
            )
    assert different(left) == 12


@pytest.mark.long
def test_processes_share_a_study_without_repeats(tmp_path: Path) -> None:
    code = """
import sys, optuna
from recommender.search.bridges.optuna_sampler import SearchSampler
optuna.logging.set_verbosity(optuna.logging.ERROR)
backend = optuna.storages.journal.JournalFileBackend(sys.argv[1])
study = optuna.create_study(study_name="s", storage=optuna.storages.JournalStorage(backend), load_if_exists=True, sampler=SearchSampler(seed=1))
study.optimize(lambda t: abs(t.suggest_int("m", 1, 16) - 6) + abs(t.suggest_int("n", 1, 16) - 4) - 3, n_trials=10)
"""
    path = str(tmp_path / "shared.journal")
    workers = [subprocess.Popen([sys.executable, "-c", code, path], cwd=ROOT) for _ in range(3)]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(path))
    study = optuna.load_study(study_name="s", storage=storage)
    assert len(ran(study)) == 30
    proposed = [trial.params for trial in study.trials if "tunegraph:proposal" in trial.system_attrs]
    assert len({tuple(params.items()) for params in proposed}) == len(proposed) >= 27


def test_a_copy_for_another_process_goes_on_from_the_study() -> None:
    study = optuna.create_study(sampler=sampler(seed=3))
    study.optimize(grid, n_trials=10)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))  # noqa: S301  its own
    study.sampler.reseed_rng()
    study.optimize(grid, n_trials=10)
    assert different(study) == 20


def test_a_study_that_another_sampler_began_is_gone_on_with() -> None:
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(grid, n_trials=15)
    study.sampler = sampler(seed=0)
    study.optimize(grid, n_trials=15)
    assert len({tuple(trial.params.items()) for trial in study.trials[15:]}) == 15
    assert not {str(trial.params) for trial in study.trials[15:]} & {
        str(trial.params) for trial in study.trials[:15]
    }
    assert study.best_value == 0


def test_one_sampler_serves_one_study_after_another() -> None:
    one = sampler(seed=0)
    for _ in range(2):
        study = optuna.create_study(sampler=one)
        study.optimize(lambda trial: trial.suggest_int("k", 1, 6), n_trials=6)
        assert different(study) == 6


def test_what_was_enqueued_runs_and_is_not_proposed_again() -> None:
    study = optuna.create_study(sampler=sampler(seed=0))
    study.optimize(lambda trial: trial.suggest_int("k", 1, 6), n_trials=1)
    study.enqueue_trial({"k": 5})
    study.optimize(lambda trial: trial.suggest_int("k", 1, 6), n_trials=5)
    assert study.trials[1].params == {"k": 5}
    assert different(study) >= 5  # the first was drawn before anything was known, and may have been 5


def test_a_trial_told_twice_is_refused_and_counts_once() -> None:
    study = optuna.create_study(sampler=sampler(seed=0))
    trial = study.ask({"k": optuna.distributions.IntDistribution(1, 6)})
    study.tell(trial, 3.0)
    with pytest.raises(ValueError, match="Cannot tell"):
        study.tell(trial, 1.0)
    study.tell(trial, 1.0, skip_if_finished=True)
    study.ask({"k": optuna.distributions.IntDistribution(1, 6)})
    assert [trial.value for trial in study.trials[:1]] == [3.0]
    assert len(study.sampler._search[1]._search.evaluations) == 1


def test_a_trial_that_fails_leaves_its_proposal_evaluated() -> None:
    study = optuna.create_study(sampler=sampler(seed=0))

    def objective(trial: Any) -> float:
        k = trial.suggest_int("k", 1, 8)
        if k % 2:
            raise ValueError("odd")
        return float(k)

    study.optimize(objective, n_trials=8, catch=(ValueError,))
    assert different(study) == 8
    assert study.best_value == 2
