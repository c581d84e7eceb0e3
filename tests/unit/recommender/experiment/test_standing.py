"""States of experiments from samples made up: who is best, who is tied, and what is left to do."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from kg.nouns.entities import Better
from recommender.experiment.comparison import ArmPair, effect, log_of
from recommender.experiment.design import CONTROL, ExperimentDesign
from recommender.experiment.mixture import pairs_needed, pairs_to_equivalence
from recommender.experiment.samples import Sample, rounds
from recommender.experiment.schemes import Scheme
from recommender.experiment.standing import ExperimentState, standing
from recommender.experiment.verdict import Verdict
from tests.unit.recommender.experiment.trials import A, B, C, design

THREE = {CONTROL: A, "one": B, "two": C}


def taken(values: dict[str, float], count: int, noise: float = 0.01, seed: int = 1) -> list[Sample]:
    """Rounds of arms with a time each, and noise."""
    rng = np.random.default_rng(seed)
    return [
        Sample(
            session=0,
            round=number,
            slot=slot,
            arm=arm,
            of=len(values),
            cost_s=1.0,
            runs=(({"latency": value * math.exp(noise * rng.normal())},),),
        )
        for number in range(count)
        for slot, (arm, value) in enumerate(values.items())
    ]


def state(values: dict[str, float], count: int, **changed: object) -> ExperimentState:
    arms = THREE if len(values) == 3 else {CONTROL: A, "treatment": B}
    return standing(taken(values, count), design(**{"arms": arms, "pairs": 400, **changed}))


def test_the_best_of_three_is_named_and_the_beaten_run_no_more() -> None:
    found = state({CONTROL: 1.0, "one": 0.9, "two": 0.7}, 60)
    assert (found.best, found.contenders) == ("two", ("two",))
    assert found.stop == "the best arm is known: two"
    assert found.cost_s == 180


def test_treatments_within_the_margin_of_each_other_are_tied_and_others_are_not() -> None:
    alike = state({CONTROL: 1.0, "one": 0.7, "two": 0.7}, 200, margin=0.03)
    assert alike.contenders == ("one", "two")
    assert alike.stop == "the best arms do not differ by more than the margin: one, two"
    close = state({CONTROL: 1.0, "one": 0.7, "two": 0.7}, 12, margin=0.001)
    assert close.contenders == ("one", "two")
    assert close.stop == ""


@pytest.mark.parametrize("value", [0.97, 1.0])
def test_rounds_to_go_are_those_that_the_effect_needs_less_those_that_ran(value: float) -> None:
    made = design(pairs=400, margin=0.01)
    found = standing(taken({CONTROL: 1.0, "treatment": value}, 8, noise=0.03), made)
    [item] = found.comparisons
    assert item.verdict is Verdict.UNDECIDED
    mean, noise = item.interval.mean, item.interval.noise
    needed = [pairs_needed(mean, noise, 0.05), pairs_to_equivalence(mean, noise, 0.01, 0.05)]
    assert found.pairs_left == max(1, min(count for count in needed if count is not None) - 8)
    few = standing(taken({CONTROL: 1.0, "treatment": value}, 8, noise=0.03), design(pairs=9, margin=0.01))
    assert few.pairs_left == 1


@pytest.mark.parametrize("scheme", [Scheme.RANDOMISED, Scheme.SEQUENTIAL])
@pytest.mark.parametrize("better", [Better.LOWER, Better.HIGHER])
def test_an_arm_against_another_is_the_other_against_it_turned_round(scheme: Scheme, better: Better) -> None:
    made: ExperimentDesign = design(scheme=scheme, better=better)
    samples = taken({CONTROL: 1.0, "treatment": 0.8}, 30)
    if scheme is Scheme.SEQUENTIAL:
        samples.sort(key=lambda sample: (sample.arm != CONTROL, sample.round))
    value = log_of("latency", better)
    one, other = (
        effect(samples, rounds(samples, made), ArmPair(one=a, other=b, value=value), made, 0.05)[0]
        for a, b in ((CONTROL, "treatment"), ("treatment", CONTROL))
    )
    assert other.mean == pytest.approx(-one.mean)
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low))
    assert (other.mean > 0) == (better is Better.LOWER)


@pytest.mark.parametrize("lost", [CONTROL, "treatment"])
def test_a_pair_of_which_one_value_was_lost_says_nothing(lost: str) -> None:
    made: ExperimentDesign = design(scheme=Scheme.RANDOMISED)
    samples = taken({CONTROL: 1.0, "treatment": 0.8}, 20)
    pair = ArmPair(one="treatment", other=CONTROL, value=log_of("latency", Better.LOWER))
    whole, _ = effect(samples[:-2], rounds(samples[:-2], made), pair, made, 0.05)
    at = next(at for at in (-2, -1) if samples[at].arm == lost)
    samples[at] = replace(samples[at], runs=(({},),))
    found, track = effect(samples, rounds(samples, made), pair, made, 0.05)
    assert (found, len(track)) == (whole, 19)


@pytest.mark.parametrize(("budget_s", "stop"), [(20.0, "the budget of 20 s is used up"), (20.5, "")])
def test_the_time_that_was_allowed_ends_it(budget_s: float, stop: str) -> None:
    found = state({CONTROL: 1.0, "treatment": 1.0}, 10, budget_s=budget_s, margin=0.0001)
    assert (found.cost_s, found.stop) == (20, stop)


@pytest.mark.parametrize(
    ("told", "jump"),
    [([0, 10, 20, 30], ""), ([0, 10, 140, 150], "+120"), ([0, 10, -100, -90], "-120"), ([0, 130, 200, 210], "+120"),
     ([500, 0, 10, 20], "")],
)  # fmt: skip
def test_the_largest_jump_of_the_systems_clock_is_told(told: list[int], jump: str) -> None:
    """A session of its own, as the first sample of the last case, begins a clock of its own."""
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    samples = [
        replace(item, at_s=10.0 * place, session=int(told[0] <= 0 or place > 0),
                time=(begun + timedelta(seconds=told[place])).isoformat())
        for place, item in enumerate(taken({CONTROL: 1.0, "treatment": 0.9}, 2))
    ]  # fmt: skip
    said = [text for text in standing(samples, design()).notes if "clock jumped" in text]
    assert [text.partition(" by ")[2].partition(" s")[0] for text in said] == ([jump] if jump else [])
