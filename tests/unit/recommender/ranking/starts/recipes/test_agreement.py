"""Agreement among recipes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.nouns.recipe import RecipeSetting
from kg.nouns.setting import SettingPlace
from recommender.ranking.starts.recipes.agreement import (
    LEAST_WEIGHT,
    AgreedSetting,
    agreed_settings,
    carrier,
    differences,
)
from tests.unit.recommender.ranking.starts.situations import recipe, weighed

ONE = recipe("one", {"--max-num-seqs": "64", "--block-size": "16"})
TWO = recipe("two", {"--max_num_seqs": "64"})
THREE = recipe("three", {"--max-num-seqs": "32", "--tensor-parallel-size": "8", "--port": "80"})


def by_key(agreed: list[AgreedSetting]) -> list[tuple[str, str, float, float]]:
    return [(item.key, item.value, round(item.share, 6), round(item.value_share, 6)) for item in agreed]


def test_a_key_counts_in_any_spelling_and_its_values_apart() -> None:
    agreed = agreed_settings(weighed(ONE, TWO, THREE, weights=(0.5, 0.3, 0.2)))
    assert by_key(agreed) == [
        ("--max-num-seqs", "64", 1.0, 0.8),
        ("--max-num-seqs", "32", 1.0, 0.2),
        ("--block-size", "16", 0.5, 0.5),
    ]
    assert [item.first.id for item in agreed] == ["one", "three", "one"]


def test_of_a_key_that_is_set_twice_the_last_counts() -> None:
    twice = recipe("twice", {"--block-size": "16", "--block_size": "32"})
    assert by_key(agreed_settings(weighed(twice))) == [("--block_size", "32", 1.0, 1.0)]


def test_recipes_of_hardly_any_weight_are_not_read() -> None:
    faint = weighed(ONE, TWO, weights=(LEAST_WEIGHT / 2, 0.5))
    assert by_key(agreed_settings(faint)) == [("--max_num_seqs", "64", 0.5, 0.5)]


def test_a_recipe_differs_in_what_it_tunes_otherwise_or_alone() -> None:
    switch = recipe("switch", {"--async-scheduling": "true", "--block-size": "16", "--port": "80"})
    assert differences(switch, {}) == {"--async-scheduling": "", "--block-size": "16"}
    assert differences(switch, {"async_scheduling": None, "block_size": 16}) == {}
    assert differences(switch, {"async_scheduling": True, "block_size": 32}) == {"--block-size": "16"}


@given(st.permutations(list(ONE.settings) + list(THREE.settings)[1:]))
def test_the_order_in_which_a_recipe_sets_different_keys_changes_nothing(order: list[RecipeSetting]) -> None:
    from dataclasses import replace

    given_so = agreed_settings(weighed(replace(ONE, settings=tuple(order)), TWO))
    usual = agreed_settings(weighed(replace(ONE, settings=(*ONE.settings, *THREE.settings[1:])), TWO))
    assert by_key(given_so) == by_key(usual)


@pytest.mark.parametrize(
    ("where", "key", "name"),
    [
        (SettingPlace.JSON, "compilation-config.pass_config.fuse", "compilation_config"),
        (SettingPlace.FLAG, "--max-num-seqs", "max_num_seqs"),
        (SettingPlace.YAML, "training.lr", "training.lr"),
    ],
)
def test_fields_of_one_object_are_written_together(where: SettingPlace, key: str, name: str) -> None:
    assert carrier(where, key) == name
