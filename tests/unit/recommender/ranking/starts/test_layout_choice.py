"""Layouts ordered by price and by what recipes use."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.nouns.layout import ParallelLayout
from recommender.cost_model.priced_step import PricedStep
from recommender.ranking.model_traits import ModelTraits
from recommender.ranking.starts.layout_choice import (
    ChosenLayout,
    choose_layouts,
    degrees,
    likeness,
    shown_layouts,
)
from tests.unit.recommender.ranking.starts.situations import MODELS, recipe, weighed


def option(merit: float | None = 0.0, *, within: bool = True, **sizes: Any) -> PricedStep:
    return PricedStep(
        layout=ParallelLayout(**sizes), log_merit=merit, beyond_limits=0.0 if within else 1.0, spread=0.1
    )


FAST, USUAL = option(1.0, tp=1, dp=8), option(0.0, tp=8)
PUBLISHED = recipe("published", layout={"tp": 8})


def test_recipes_outweigh_a_price_that_is_little_better() -> None:
    chosen = choose_layouts([FAST, USUAL], weighed(PUBLISHED), training=False)
    assert chosen[0].option is USUAL
    assert chosen[0].agreement == pytest.approx(1.0)
    assert chosen[0].nearest is PUBLISHED
    assert chosen[1].agreement == pytest.approx(math.exp(-3))  # three doublings of tp away


@pytest.mark.parametrize(("share", "first"), [(0.09, "fast"), (0.3, "usual")])
def test_an_agreement_that_is_hardly_more_does_not_outweigh_a_clearly_better_price(
    share: float, first: str
) -> None:
    fast = replace(FAST, log_merit=0.5)
    voting = [replace(one, weight=share) for one in weighed(PUBLISHED)]
    chosen = choose_layouts([USUAL, fast], voting, training=True)
    assert chosen[0].option is (fast if first == "fast" else USUAL)
    of_this_model = ModelTraits(id=PUBLISHED.model)
    known = choose_layouts([USUAL, fast], voting, training=True, model=of_this_model)
    assert known[0].option is USUAL


def test_the_nearest_recipe_is_the_one_whose_layout_is_most_alike() -> None:
    other = recipe("other", layout={"tp": 1, "dp": 8})
    for order in ([PUBLISHED, other], [other, PUBLISHED]):
        chosen = choose_layouts([FAST, USUAL], weighed(*order), training=False)
        assert {one.option.layout: one.nearest for one in chosen} == {
            USUAL.layout: PUBLISHED,
            FAST.layout: other,
        }


def test_what_keeps_the_limits_goes_first() -> None:
    slow = option(-5.0, tp=4)
    over = option(5.0, within=False, tp=8)
    assert choose_layouts([over, slow], weighed(PUBLISHED), training=False)[0].option is slow


def test_the_degree_of_expert_parallelism_counts_in_training_and_its_use_in_serving() -> None:
    options = [option(tp=8, ep=1), option(tp=8, ep=2), option(tp=8, ep=8)]
    published = weighed(recipe("e", layout={"tp": 8, "ep": 8}))

    def agreement(*, training: bool) -> list[float]:
        chosen = choose_layouts(options, published, training=training)
        return [round(next(c.agreement for c in chosen if c.option is one), 4) for one in options]

    assert agreement(training=True) == [round(math.exp(-3), 4), round(math.exp(-2), 4), 1.0]
    assert agreement(training=False) == [round(math.exp(-2), 4), 1.0, 1.0]


@given(st.permutations([FAST, USUAL, option(0.5, tp=4, dp=2), option(None, tp=2, dp=4)]))
def test_the_order_of_options_changes_nothing(options: list[PricedStep]) -> None:
    chosen = choose_layouts(options, weighed(PUBLISHED), training=False)
    again = choose_layouts(options[::-1], weighed(PUBLISHED), training=False)
    assert [one.option.layout for one in chosen] == [one.option.layout for one in again]


def test_replicas_of_the_attention_are_inside_the_tensor_parallel_size_of_a_recipe() -> None:
    inside = recipe("r", layout={"tp": 8, "dp": 4, "dp_attention": True})
    assert degrees(inside) == {"tp": 2, "pp": 1, "dp": 4, "ep": 1, "cp": 1}
    assert degrees(recipe("r", layout={"tp": 2, "dp": 4}))["tp"] == 2


def test_sglang_spreads_experts_over_all_devices_where_they_exchange_by_a_backend() -> None:
    layout = {"tp": 16, "dp": 4, "dp_attention": True}
    sets = {"--moe-a2a-backend": "deepep"}
    assert degrees(recipe("r", sets, framework="sglang", devices=16, layout=layout))["ep"] == 16
    assert degrees(recipe("r", sets, framework="vllm", devices=16, layout=layout))["ep"] == 1
    assert degrees(recipe("r", framework="sglang", devices=16, layout=layout))["ep"] == 1
    assert degrees(recipe("r", sets, framework="sglang", devices=16, layout={**layout, "ep": 4}))["ep"] == 4


def test_training_compares_what_each_device_holds_of_models_of_other_sizes() -> None:
    """Eight times the parameters on eight times the stages is the same for a device."""
    small, large = MODELS["small"], replace(MODELS["small"], id="large", parameters=64e9)
    one = replace(weighed(recipe("r", devices=2, layout={"tp": 2, "pp": 1}))[0], model=small)
    spread, plain = ParallelLayout(tp=2, pp=8), ParallelLayout(tp=2, pp=1, dp=8)
    assert likeness(spread, one, large, training=True) == pytest.approx(1.0)
    assert likeness(plain, one, large, training=True) == pytest.approx(math.exp(-3))
    assert likeness(plain, one, None, training=True) == pytest.approx(1.0)
    assert likeness(spread, one, small, training=True) == pytest.approx(math.exp(-3))  # its very own degrees


def test_a_split_over_all_devices_is_copied_or_widened_on_more_and_kept_on_fewer() -> None:
    one = replace(weighed(recipe("r", devices=4, layout={"tp": 4}))[0], model=MODELS["small"])
    same, twice = MODELS["small"], replace(MODELS["small"], parameters=16e9)

    def alike(model: ModelTraits | None, **sizes: Any) -> float:
        return likeness(ParallelLayout(**sizes), one, model, training=False)

    assert alike(same, tp=16) == alike(same, tp=4, dp=4) > alike(same, tp=8, dp=2) > alike(same, dp=16)
    assert alike(twice, tp=16) == alike(twice, tp=8, dp=2) > alike(twice, tp=4, dp=4)
    assert alike(None, tp=16) == 1 > alike(None, tp=4, dp=4)
    assert alike(same, tp=2) == 1 > alike(same, dp=2)


def test_a_recipe_of_several_instances_is_copied_on_more_devices_than_one_of_them_has() -> None:
    fleet = recipe("r", devices=8, layout={"tp": 2}, instances=4)
    one = replace(weighed(fleet)[0], model=MODELS["small"])

    def alike(model: ModelTraits | None, **sizes: Any) -> float:
        return likeness(ParallelLayout(**sizes), one, model, training=False)

    assert alike(MODELS["small"], tp=2, dp=4) == alike(None, tp=2, dp=4) == 1 > alike(None, tp=8)
    assert alike(replace(MODELS["small"], parameters=16e9), tp=4, dp=2) == 1
    assert alike(None, tp=2) == 1 > alike(None, dp=2)


def test_experts_are_held_by_the_devices_that_share_them_out() -> None:
    mixture = replace(MODELS["experts"], routed=560e9)
    assert mixture.device_parameters(1, 1, 8) == pytest.approx(40e9 + 70e9)
    assert mixture.device_parameters(8, 2, 1) == pytest.approx((40e9 + 560e9) / 16)
    assert replace(mixture, parameters=None).device_parameters(1, 1, 1) is None


def test_three_layouts_are_shown_with_the_fastest_and_none_that_misses_more_than_the_first() -> None:
    def shown(*options: PricedStep) -> list[PricedStep]:
        kinds = [ChosenLayout(option=one, agreement=0.0, score=0.0) for one in options]
        return [one.option for one in shown_layouts(kinds)]

    slow = [option(-0.1 * place, tp=2 ** (place + 1)) for place in range(3)]
    missing = option(2.0, within=False, tp=16)
    assert shown(*slow, FAST) == [*slow[:2], FAST]
    assert shown(FAST, *slow) == [FAST, *slow[:2]]
    assert shown(*slow, missing) == slow
    assert shown(missing, *slow) == [missing, *slow[:2]]
    assert shown(*slow[:1], option(None, pp=2), option(None, pp=4), missing) == [
        slow[0], option(None, pp=2), option(None, pp=4),
    ]  # fmt: skip
