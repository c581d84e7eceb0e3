"""A recipe is refused where it cannot be opened, sets nothing, or its sizes do not multiply."""

from typing import Any

import pytest

from kg.nouns.entities import Source
from kg.nouns.recipe import Authority, Recipe, RecipeSetting, Role
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings

SETTING = RecipeSetting(where=SettingPlace.FLAG, key="--tp", value="4")


def recipe(layout: dict[str, Any], devices: int, **others: Any) -> Recipe:
    values: dict[str, Any] = {
        "id": "r",
        "role": Role.SERVE,
        "model": "qwen3-8b",
        "reported_model": "Qwen3-8B",
        "family": "qwen3-dense",
        "devices": devices,
        "framework": "vllm-ascend",
        "source": Source(title="guide", url="https://example.org/guide"),
        "authority": Authority.VENDOR_TUTORIAL,
        "layout": Settings(layout),
        "settings": (SETTING,),
    }
    return Recipe(**values | others)


@pytest.mark.parametrize(
    ("layout", "devices", "instances"),
    [
        ({}, 7, 1),
        ({"ep": 7}, 7, 1),
        ({"tp": 4}, 4, 1),
        ({"tp": 4, "dp": 2, "pp": 2, "cp": 2}, 32, 1),
        ({"tp": 4, "dp": 2, "ep": 8}, 8, 1),
        ({"tp": 4}, 8, 2),
        ({"tp": 16, "dp": 4, "dp_attention": True}, 16, 1),
    ],
)
def test_sizes_that_multiply_are_taken(layout: dict[str, Any], devices: int, instances: int) -> None:
    assert recipe(layout, devices, instances=instances).devices == devices


@pytest.mark.parametrize(
    ("layout", "devices", "instances", "says"),
    [
        ({"tp": 4, "dp": 2}, 16, 1, "tp 4 x dp 2 makes 8 devices, not 16"),
        ({"tp": 4}, 4, 2, "tp 4 in 2 instances makes 8 devices, not 4"),
        ({"tp": 16, "dp": 4, "dp_attention": True}, 64, 1, r"\(dp inside tp\) makes 16 devices, not 64"),
        ({"tp": 4, "ep": 8}, 4, 1, "ep 8 is more than the 4 devices it spans"),
        ({"tp": 0}, 4, 1, "tp 0 is no positive whole number"),
        ({"tp": "four"}, 4, 1, "tp 'four' is no positive whole number"),
        ({}, 0, 1, "0 devices"),
    ],
)
def test_sizes_that_do_not_multiply_are_refused(
    layout: dict[str, Any], devices: int, instances: int, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        recipe(layout, devices, instances=instances)


@pytest.mark.parametrize(
    ("others", "says"),
    [
        ({"source": Source(title="hearsay")}, "a source that can be opened"),
        ({"settings": ()}, "sets something"),
        ({"model": ""}, "needs a model"),
        ({"framework": ""}, "needs a framework"),
    ],
)
def test_what_is_no_recipe_is_refused(others: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        recipe({"tp": 4}, 4, **others)


def test_a_setting_needs_a_key() -> None:
    with pytest.raises(ValueError, match="needs a key"):
        RecipeSetting(where=SettingPlace.ENV, key="", value="1")
