"""Weights of recipes for a situation."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.nouns.entities import Better
from kg.nouns.recipe import Recipe, Role
from recommender.ranking.starts.recipes.resemblance import LATENCY, WeighedRecipe, weigh
from recommender.ranking.starts.situation import StartSituation
from tests.unit.recommender.ranking.starts.situations import HARDWARE, MODELS, recipe, situation

SAME = recipe("same")
ALL = [
    SAME,
    recipe("sister", model="large"),
    recipe("experts", model="experts"),
    recipe("elsewhere", hardware="chip-b"),
    recipe("abroad", hardware="chip-c"),
    recipe("small-job", devices=1),
    recipe("mindspore", {"--ai-framework": "mindspore"}),
]


def compare(recipes: list[Recipe], about: StartSituation | None = None) -> list[WeighedRecipe]:
    return weigh(about or situation(), recipes, MODELS.__getitem__, HARDWARE.__getitem__)


def distance(one: Recipe, about: StartSituation | None = None) -> float:
    return compare([one], about)[0].distance


def test_the_very_same_case_is_nearest_and_weights_add_up() -> None:
    found = compare(ALL)
    assert found[0].recipe is SAME
    assert sum(one.weight for one in found) == pytest.approx(1)
    assert [one.distance for one in found] == sorted(one.distance for one in found)


@given(st.permutations(ALL))
def test_the_order_of_recipes_changes_nothing(order: list[Recipe]) -> None:
    def weights(recipes: list[Recipe]) -> dict[str, float]:
        return {one.recipe.id: round(one.weight, 12) for one in compare(recipes)}

    assert list(weights(order)) == list(weights(ALL))
    assert weights(order) == weights(ALL)


def test_nothing_of_another_framework_or_role_is_compared() -> None:
    foreign = [recipe("f", framework="sglang"), recipe("p", role=Role.PREFILL), recipe("t", role=Role.TRAIN)]
    assert compare(foreign) == []
    assert [one.recipe.id for one in compare(foreign, situation(framework="sglang"))] == ["f"]
    assert [one.recipe.id for one in compare(foreign, situation(phase="training"))] == ["t"]
    assert [one.recipe.id for one in compare(foreign, situation(role="prefill"))] == ["p"]


def test_another_model_family_and_kind_are_farther_in_this_order() -> None:
    same, sister, experts = (distance(recipe("r", model=name)) for name in ("small", "large", "experts"))
    assert same < sister < experts


@pytest.mark.parametrize(
    "change", [{"attention": "latent"}, {"has_draft": True}, {"is_multimodal": True}, {"is_mixture": True}]
)
def test_a_model_of_another_kind_is_farther(change: dict[str, Any]) -> None:
    alike = replace(MODELS["small"], id="alike", family="")
    other = replace(alike, id="other", **change)
    about = replace(situation(), model=replace(MODELS["small"], id="mine", family="none"))
    found = {
        name: weigh(about, [recipe("r", model="large")], {"large": made}.__getitem__, HARDWARE.__getitem__)[
            0
        ].distance
        for name, made in (("alike", alike), ("other", other))
    }
    assert found["alike"] < found["other"]


def test_a_length_that_is_nearer_counts_for_more() -> None:
    from dataclasses import replace

    from kg.nouns.values import Settings

    short, long = (replace(SAME, context=Settings({"input_len": length})) for length in (1024, 65536))
    asked = situation(input_len=1024)
    assert distance(short, asked) < distance(SAME, asked) < distance(long, asked)


def test_a_model_with_many_recipes_does_not_outvote_others() -> None:
    many = [recipe(f"many{n}") for n in range(9)]
    found = compare([*many, recipe("other", model="large")])
    alone = compare([SAME, recipe("other", model="large")])

    def share(items: list[WeighedRecipe]) -> float:
        return sum(one.weight for one in items if one.recipe.model == "small")

    assert share(found) / (1 - share(found)) == pytest.approx(3 * share(alone) / (1 - share(alone)))


def test_fine_tuning_and_mindspore_are_farther() -> None:
    asked = situation(phase="training")
    assert distance(recipe("r", role=Role.TRAIN), asked) < distance(recipe("r", role=Role.FINETUNE), asked)
    assert distance(SAME) < distance(ALL[-1])


def test_a_recipe_for_short_times_is_further_from_a_question_for_many_requests() -> None:
    few, many = recipe("few", {"--max-num-seqs": "1"}), recipe("many", {"--max-num-seqs": "64"})
    assert distance(few) - distance(many) == pytest.approx(LATENCY)
    assert distance(recipe("unsaid")) == distance(many)
    single = situation(concurrency=1)
    assert distance(few, single) == distance(many, single)
    objective = replace(situation().problem.objective, metric="tpot", better=Better.LOWER)
    quick = replace(situation(), problem=replace(situation().problem, objective=objective))
    assert distance(few, quick) == distance(many, quick)


def test_a_recipe_of_a_maker_alone_is_near_its_chips_and_not_those_of_others() -> None:
    paths = {**HARDWARE, "maker-a": ("maker-a",), "maker-c": ("maker-c",)}
    near = [recipe("all", hardware="maker-a"), recipe("others", hardware="maker-c")]
    found = weigh(situation(), near, MODELS.__getitem__, paths.__getitem__)
    assert {one.recipe.id: one.is_foreign for one in found} == {"all": False, "others": True}
