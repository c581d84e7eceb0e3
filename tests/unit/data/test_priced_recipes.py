"""Published recipes as questions to the cost model."""

import pytest

from benchmarks.worlds.shipped import ShippedKnowledge
from kg.errors import TuningError
from kg.nouns.recipe import Recipe, Role
from recommender.cost_model.estimate import estimate_question
from recommender.store.shipped_knowledge import recipes
from tests.samples.recipe_questions import recipe_question, representative


@pytest.fixture(scope="module")
def shipped() -> ShippedKnowledge:
    return ShippedKnowledge.load()


def _questions(shipped: ShippedKnowledge) -> dict[str, Recipe]:
    return {recipe.id: recipe for recipe in recipes() if "hidden_size" in shipped.model_facts(recipe.model)}


@pytest.mark.long
def test_every_recipe_whose_model_is_known_is_a_question_without_a_hand(shipped: ShippedKnowledge) -> None:
    known = _questions(shipped)
    assert len(known) >= 350
    refused = []
    for recipe in known.values():
        try:
            recipe_question(recipe, shipped.model_facts(recipe.model), shipped.hardware)
        except TuningError as error:
            refused.append(f"{recipe.id}: {error}")
    assert len(refused) <= 3, refused


@pytest.mark.long
def test_a_recipe_keeps_its_devices_its_lengths_and_its_experts(shipped: ShippedKnowledge) -> None:
    known = [
        recipe
        for recipe in _questions(shipped).values()
        if recipe.framework == "sglang" and recipe.layout.get("dp_attention") and recipe.role is Role.DECODE
    ]
    assert known
    for recipe in known[:3]:
        asked = recipe_question(recipe, shipped.model_facts(recipe.model), shipped.hardware)
        sizes = asked.settings
        degrees = [
            int(str(sizes.get(name, 1))) for name in ("tensor_parallel", "pipeline_parallel", "data_parallel")
        ]
        assert (
            degrees[0] * degrees[1] * degrees[2] == recipe.devices // recipe.instances == asked.machine.count
        )
        assert estimate_question(asked).time_s[0] > 0


def test_a_generation_stands_for_its_middle_part(shipped: ShippedKnowledge) -> None:
    tree = shipped.hardware
    peaks = sorted(
        float(tree.facts(name)["peak_int8_ops"])
        for name in tree.devices("ascend-a2")
        if "peak_int8_ops" in tree.facts(name)
    )
    assert tree.facts(representative(tree, "ascend-a2"))["peak_int8_ops"] == peaks[len(peaks) // 2]
    assert representative(tree, "ascend-910b4") == "ascend-910b4"
