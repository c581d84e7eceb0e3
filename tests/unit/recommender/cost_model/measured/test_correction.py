"""The error of prices, learned from measured runs."""

from dataclasses import replace

import numpy as np
import pytest

from recommender.cost_model.estimate import estimate
from recommender.cost_model.measured.correction import OF_THE_PRICE, RunCorrection, SiteLevel
from recommender.cost_model.measured.step_place import PricedRun, StepPlace
from tests.unit.recommender.cost_model.machines import machine_of, model

HERE = StepPlace(
    engine="vllm", device="b200", precision="fp8", lengths=(10.0, 10.0), layout=(1.0, 0.0, 0.0, 0.0), load=6.0
)
WIDER = replace(HERE, layout=(3.0, 0.0, 0.0, 0.0))


def run(place: StepPlace, log_ratio: float, group: str = "one") -> PricedRun:
    return PricedRun(place=place, log_ratio=log_ratio, group=group)


def correction(*runs: PricedRun) -> RunCorrection:
    return RunCorrection(runs=runs)


def test_without_runs_a_price_stands_with_its_error() -> None:
    means, spreads = correction().at([HERE, WIDER])
    assert means.tolist() == [0.0, 0.0]
    assert spreads.tolist() == [OF_THE_PRICE] * 2


def test_a_run_corrects_its_own_place_most_and_makes_it_surer() -> None:
    means, spreads = correction(run(HERE, 0.4)).at([HERE, WIDER, replace(HERE, device="h200")])
    assert 0.2 < means[0] < 0.4
    assert means[0] > means[1] > means[2] > 0
    assert spreads[0] < spreads[1] < spreads[2] < OF_THE_PRICE


def test_a_corrected_step_is_as_sure_as_its_runs_make_it_and_never_less_than_before() -> None:
    plain = estimate(
        model=model("qwen3-8b"), machine=machine_of("h100-sxm", 1), phase="serving", settings=[{}, {}], engine="vllm"
    )  # fmt: skip
    held, far = correction(run(HERE, 0.4)), replace(HERE, device="h200", engine="sglang", load=0.0)
    steps = held.corrected(plain, [HERE, far])
    means, spreads = held.at([HERE, far])
    assert steps.time_s.tolist() == pytest.approx((plain.time_s * np.exp(means)).tolist())
    assert steps.spread_of(0) == pytest.approx(spreads[0])
    assert spreads[1] > plain.spread == steps.spread_of(1)
    assert steps.doubt is not None
    assert steps.doubt.tolist() == pytest.approx((spreads / OF_THE_PRICE).tolist())


def test_what_runs_of_one_problem_have_in_common_counts_less_than_two_problems() -> None:
    other = replace(HERE, load=5.0)
    alone = correction(run(HERE, 0.3), run(other, 0.3)).at([HERE])[0][0]
    apart = correction(run(HERE, 0.3), run(other, 0.3, "two")).at([HERE])[0][0]
    assert apart > alone


@pytest.mark.parametrize(
    ("unstated", "other"),
    [
        (replace(HERE, engine=""), replace(HERE, engine="sglang")),
        (replace(HERE, precision=""), replace(HERE, precision="bf16")),
    ],
)
def test_what_a_run_does_not_state_is_taken_to_be_alike(unstated: StepPlace, other: StepPlace) -> None:
    alike = correction(run(HERE, 0.3)).at([HERE])[0][0]
    assert correction(run(unstated, 0.3)).at([HERE])[0][0] == pytest.approx(alike)
    assert correction(run(other, 0.3)).at([HERE])[0][0] < alike


def test_a_level_adds_to_what_runs_elsewhere_say_and_moves_every_configuration_alike() -> None:
    plain = estimate(
        model=model("qwen3-8b"), machine=machine_of("h100-sxm", 1), phase="serving", settings=[{}, {"batch": 8}], engine="vllm"
    )  # fmt: skip
    level = SiteLevel(log_factor=0.1, spread=0.15, basis="own", usual=plain.spread)
    alone = replace(correction(), level=level).corrected(plain, [HERE, WIDER])
    assert alone.time_s.tolist() == pytest.approx((plain.time_s * np.exp(0.1)).tolist())
    assert alone.spread_of(0) == pytest.approx(0.15)
    far = run(replace(HERE, device="h200", engine="sglang"), 0.2)
    runs, both = (replace(correction(far), level=one).corrected(plain, [HERE, HERE]) for one in (None, level))
    assert both.time_s[0] > runs.time_s[0] > plain.time_s[0]
    assert both.spread_of(0) < runs.spread_of(0)


def test_an_engine_that_runs_as_none_is_modelled_goes_with_its_runs() -> None:
    held = correction(*(run(replace(HERE, load=load), 3.0) for load in (0.0, 3.0, 6.0)))
    means, spreads = held.at([replace(HERE, load=4.0)], usual=3.2)
    assert means[0] > 2.5
    assert held.at([HERE])[1][0] < spreads[0] < 2.0


def test_runs_of_other_engines_do_not_make_sure_of_one_that_runs_less_as_modelled() -> None:
    held = correction(run(replace(HERE, engine="another", precision="fp8"), 0.1))
    assert held.at([HERE], usual=0.75)[1][0] > 0.6
    assert held.at([HERE], usual=0.3)[1][0] < 0.3
