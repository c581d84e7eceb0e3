"""Trials as the log keeps them."""

from typing import Any

import optuna
import pytest

from kg.nouns.entities import Status
from kg.nouns.values import Settings
from recommender.search.evaluations import Evaluation
from recommender.search.log.trial_record import OWN, outcomes, trial_from_optuna


@pytest.mark.parametrize(
    ("noted", "read"),
    [
        ({}, ("random", "", None, 0.0, (), None)),
        (
            {
                "origin": "model",
                "owner": "a:1",
                "until": 9.0,
                "elapsed_s": 2.5,
                "notes": ["n"],
                "expected": [1.0],
            },
            ("model", "a:1", 9.0, 2.5, ("n",), (1.0,)),
        ),
        ("not ours", ("random", "", None, 0.0, (), None)),
    ],
)
def test_what_a_trial_lacks_is_nothing(noted: Any, read: tuple[object, ...]) -> None:
    made = optuna.trial.create_trial(value=1.0, user_attrs={OWN: noted})
    made._trial_id = 7
    trial = trial_from_optuna(made)
    assert (trial.origin, trial.owner, trial.until, trial.elapsed_s, trial.notes, trial.expected) == read
    assert (trial.state, trial.evaluation, trial.beat) == ("COMPLETE", None, None)


def test_what_failed_is_told_once_and_what_is_unknown_is_no_outcome() -> None:
    failed = Evaluation(
        configuration=Settings(), values=(None, None, None), status=Status.OUT_OF_MEMORY, reason="no room"
    )
    assert outcomes(failed) == [{"value": None, "status": "out_of_memory", "reason": "no room"}, None, None]
    half = Evaluation(configuration=Settings(), values=(2.0, None), stdev=(0.5, None), repeats=3)
    assert outcomes(half) == [{"value": 2.0, "status": "ok", "n": 3, "std": 0.5}, None]
