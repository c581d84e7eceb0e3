"""A/B tests that can begin: what is tried, and what is refused before anything runs."""

import sys

import pytest

from kg.errors import InputError
from kg.nouns.entities import Better
from kg.nouns.values import Settings, Value
from recommender.experiment.design import CONTROL, ExperimentDesign, Guard
from recommender.experiment.metadata import ExperimentSubject, Runs
from recommender.experiment.preparing import PreparedTest, arms_of, with_flags
from recommender.ranking.change import Change


def recommended(configuration: Settings) -> ExperimentSubject:
    return ExperimentSubject(question={"op": "toy"}, single=Change(id="4d2f", configuration=configuration))


BEFORE = Settings({"batch": 8})


def test_a_recommendation_is_the_treatment_where_none_is_given() -> None:
    subject = recommended(Settings({"batch": 32}))
    assert arms_of(BEFORE, [], subject) == {CONTROL: BEFORE, "treatment": Settings({"batch": 32})}
    assert arms_of(BEFORE, [Settings({"batch": 16})], subject)["treatment"] == Settings({"batch": 16})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch", "32; rm -r ~"),
        ("batch", "$(touch x)"),
        ("batch", "`touch x`"),
        ("batch", "a\nb"),
        ("batch", "-rf"),
        ("LD_PRELOAD", "libevil.so"),
        ("PYTHONPATH", "evil"),
    ],
)
def test_a_value_that_could_be_misread_needs_the_users_word(name: str, value: str) -> None:
    subject = recommended(Settings({name: value}))
    with pytest.raises(InputError, match="is the value of a case and not plain"):
        arms_of(BEFORE, [], subject)
    assert arms_of(BEFORE, [], subject, [value])["treatment"][name] == value


@pytest.mark.parametrize("value", [-1, -0.5, "-1", "bf16", "a b", "/models/x", True, None])
def test_a_plain_value_needs_no_word(value: Value) -> None:
    assert arms_of(BEFORE, [], recommended(Settings({"batch": value})))["treatment"]["batch"] == value


def test_a_recommendation_without_settings_cannot_be_tried() -> None:
    with pytest.raises(InputError, match="the recommendation sets nothing"):
        arms_of(BEFORE, [], recommended(Settings()))


def test_a_command_gets_the_flags_of_a_recommendation_and_its_variables() -> None:
    change = Change(
        id="4d2f",
        configuration=Settings({"batch": 32, "NCCL_ALGO": "ring"}),
        flags=("--batch 32", "export NCCL_ALGO=ring"),
    )
    subject = ExperimentSubject(question={"op": "toy"}, single=change)
    runs = with_flags(Runs.reading("run {options}"), subject)
    assert runs.options == {CONTROL: "", "treatment": "--batch 32"}
    assert runs.environment == {"NCCL_ALGO": "{NCCL_ALGO}"}
    design = ExperimentDesign(metric="run_time", better=Better.LOWER, arms=arms_of(Settings(), [], subject))
    PreparedTest(design=design, runs=runs, subject=subject)
    with pytest.raises(InputError, match="no flag sets"):
        with_flags(Runs.reading("run {options}"), recommended(Settings({"batch": 32})))
    assert with_flags(Runs.reading("run {batch}"), subject) == Runs.reading("run {batch}")


def test_a_guard_needs_a_metric_to_read() -> None:
    design = ExperimentDesign(
        metric="run_time",
        better=Better.LOWER,
        arms=arms_of(BEFORE, [Settings({"batch": 16})]),
        guards=(Guard.parse("peak_memory<=+5%"),),
    )
    with pytest.raises(InputError, match="the guard on peak_memory has nothing to read"):
        PreparedTest(design=design, runs=Runs.reading((sys.executable, "run.py", "{batch}")))
