"""Requests for A/B tests: what is tried, and what is refused before anything runs."""

import sys
from pathlib import Path
from typing import Any

import pytest

from kg.errors import InputError
from kg.nouns.values import Settings
from recommender.experiment.design import CONTROL
from recommender.experiment.metadata import ExperimentSubject
from recommender.experiment.preparing import ExperimentRequest
from recommender.ranking.change import Change


def request(**more: Any) -> ExperimentRequest:
    command = (sys.executable, "run.py", "{batch}")
    return ExperimentRequest(
        **{"control": Settings({"batch": 8}), "folder": Path(), "command": command, **more}
    )


def recommended(configuration: Settings) -> ExperimentSubject:
    return ExperimentSubject(question={"op": "toy"}, single=Change(id="4d2f", configuration=configuration))


def test_a_recommendation_is_the_treatment_where_none_is_given() -> None:
    subject = recommended(Settings({"batch": 32}))
    test = request(subject=subject).prepare()
    assert dict(test.design.arms) == {CONTROL: Settings({"batch": 8}), "treatment": Settings({"batch": 32})}
    given = request(subject=subject, treatments=[Settings({"batch": 16})]).prepare()
    assert given.design.arms["treatment"] == Settings({"batch": 16})


def test_a_value_that_a_shell_could_misread_needs_the_users_word() -> None:
    subject = recommended(Settings({"batch": "32; rm -r ~"}))
    with pytest.raises(InputError, match="is the value of a case and not plain"):
        request(subject=subject).prepare()
    test = request(subject=subject, allowed=["32; rm -r ~"]).prepare()
    assert test.design.arms["treatment"]["batch"] == "32; rm -r ~"


def test_a_recommendation_without_settings_cannot_be_tried() -> None:
    with pytest.raises(InputError, match="the recommendation sets nothing"):
        request(subject=recommended(Settings())).prepare()


def test_a_test_of_the_set_up_runs_the_control_twice() -> None:
    arms = request(is_self_test=True).prepare().design.arms
    assert list(arms.values()) == [Settings({"batch": 8})] * 2


def test_a_seed_is_drawn_unless_it_is_given() -> None:
    treatments = [Settings({"batch": 16})]
    fixed = request(treatments=treatments, seed=7).prepare()
    assert (fixed.design.seed, fixed.is_seed_free) == (7, False)
    assert request(treatments=treatments).prepare().is_seed_free


def test_a_guard_needs_a_metric_to_read() -> None:
    with pytest.raises(InputError, match="the guard on peak_memory has nothing to read"):
        request(treatments=[Settings({"batch": 16})], guards=["peak_memory<=+5%"]).prepare()
