"""The draft that is gathered while starts are found."""

import pytest

from recommender.ranking.starts.draft import IN_THE_START, quantises, trains_adapters
from recommender.ranking.starts.layout_choice import OTHER_PRECISION
from tests.unit.recommender.ranking.starts.situations import agreed, draft, recipe, weighed


def test_what_more_recipes_set_than_do_not_is_part_of_the_start() -> None:
    made = draft(agreed("--a", share=IN_THE_START), agreed("--b", share=IN_THE_START - 0.01))
    assert [item.key for item in made.agreed] == ["--a"]
    assert [item.key for item in made.further] == ["--b"]
    assert made.value("a") == "true"
    assert made.value("b") is None


@pytest.mark.parametrize(
    ("keys", "factors"), [((), (1.0, OTHER_PRECISION)), (("--quantization",), (OTHER_PRECISION, 1.0))]
)
def test_recipes_of_another_width_weigh_less(keys: tuple[str, ...], factors: tuple[float, float]) -> None:
    plain, narrow = recipe("plain"), recipe("narrow", {"--quantization": "ascend"})
    assert [quantises(one) for one in (plain, narrow)] == [False, True]
    made = draft(*(agreed(key, "ascend") for key in keys), behind=weighed(plain, narrow))
    assert [one.weight for one in made.for_layout()] == pytest.approx([0.5 * factor for factor in factors])


def test_recipes_of_full_training_are_silent_about_the_layout_of_adapters() -> None:
    full, adapted = recipe("full"), recipe("adapted", {"--lora-r": "16", "--kv-lora-rank": "512"})
    compressed = recipe("compressed", {"--kv-lora-rank": "512"})
    assert [trains_adapters(one) for one in (full, adapted, compressed)] == [False, True, False]
    made = draft(behind=weighed(full, adapted, compressed))
    assert [one.recipe.id for one in made.for_layout()] == ["full", "compressed"]
