"""Designs refuse what cannot decide anything, and come back from JSON as they were."""

import json
import math
from typing import Any

import pytest

from kg.errors import InputError
from kg.nouns.entities import Better
from kg.nouns.values import Settings
from recommender.experiment.design import CONTROL, ExperimentDesign, Guard, treatments_named
from tests.unit.recommender.experiment.trials import A, B, C, design


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"arms": {CONTROL: A, "treatment": A}}, "the same configuration"),
        ({"arms": {CONTROL: Settings({"a": 16}), "treatment": Settings({"a": 16.0})}}, "the same"),
        ({"arms": {CONTROL: A}}, "at least one treatment"),
        ({"arms": {"treatment": A, "other": B}}, "needs a control"),
        ({"pairs": 5}, "5 pairs cannot decide"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": 0.5}, "alpha"),
        ({"margin": 0.0}, "margin"),
        ({"repeats": 0}, "0 repeats"),
        ({"warmup": -1}, "warm-up"),
        ({"budget_s": 0.0}, "budget"),
        ({"guards": (Guard.parse("latency<=+5%"),)}, "needs no guard"),
    ],
)
def test_what_cannot_give_an_answer_is_refused(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        design(**changed)


def test_the_same_twice_is_allowed_on_purpose() -> None:
    assert design(arms={CONTROL: A, "treatment": A}, is_self_test=True).treatments == ("treatment",)


def test_a_design_survives_json() -> None:
    made = design(
        arms={CONTROL: A, **treatments_named([B, C])},
        guards=(Guard.parse("peak_memory<=+5%"), Guard.parse("accuracy_loss<=0.002")),
        inputs=(Settings({"size": 1}), Settings({"size": 2})),
        budget_s=60.0,
    )
    back = ExperimentDesign.from_json(json.loads(json.dumps(made.to_json())))
    assert back == made
    assert back.digest == made.digest


def test_orders_are_drawn_once_for_all_and_balanced() -> None:
    """1,000 rounds: the standard error of the share is 1.6 points."""
    made = design()
    first = [made.order(number)[0] for number in range(1000)]
    assert first == [made.order(number)[0] for number in range(1000)]
    assert first.count(CONTROL) == pytest.approx(500, abs=80)
    assert first != [design(seed=6).order(number)[0] for number in range(1000)]


def test_alpha_is_shared_by_treatments_and_guards() -> None:
    made = design(arms={CONTROL: A, **treatments_named([B, C])}, guards=(Guard.parse("energy<=+1%"),))
    assert made.level == pytest.approx(0.025)
    assert made.guard_level == pytest.approx(0.0125)
    assert made.least == 7, "1 + log2(2 / .05)"
    assert design(alpha=0.01, pairs=20).least == 8, "1 + log2(1 / .01)"


@pytest.mark.parametrize(
    ("text", "metric", "limit", "better", "relative"),
    [
        ("peak_memory<=+5%", "peak_memory", math.log(1.05), Better.LOWER, True),
        ("peak_mem <= 5 %", "peak_memory", math.log(1.05), Better.LOWER, True),
        ("accuracy>=-0.5%", "accuracy", -math.log(0.995), Better.HIGHER, True),
        ("accuracy_loss<=0.002", "accuracy_loss", 0.002, Better.LOWER, False),
        ("energy<=0%", "energy", 0.0, Better.LOWER, True),
    ],
)
def test_guards(text: str, metric: str, limit: float, better: Better, relative: bool) -> None:
    found = Guard.parse(text)
    assert (found.metric, found.better, found.relative) == (metric, better, relative)
    assert found.limit == pytest.approx(limit)


@pytest.mark.parametrize(
    "text", ["", "energy", "energy<5%", "energy<=-5%", "accuracy<=1%", "energy>=1%", "x<=1e%", "accuracy>=1%"]
)
def test_what_guards_nothing_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--guard"):
        Guard.parse(text)
