"""Shares of recipes that set the same as a strategy."""

from typing import Any

import pytest

from kg.nouns.knowledge import Assignment, Strategy
from kg.nouns.values import Value
from recommender.ranking.plan.shares import recipe_shares, share_of
from recommender.ranking.start import StartConfiguration
from recommender.ranking.starts.starts import Starts
from tests.unit.recommender.ranking.starts.situations import recipe, situation, weighed

STARTS = Starts(
    situation=situation(),
    first=StartConfiguration(),
    recipes=tuple(
        weighed(
            recipe("one", {"--async-scheduling": "true", "cfg.deep.level": "3"}, precision="W8A8"),
            recipe("two", {"--async-scheduling": "true", "--block-size": "64"}, precision="bf16"),
            weights=(0.7, 0.3),
        )
    ),
)


def share(identifier: str = "s", **sets: Value) -> float:
    strategy = Strategy(
        id=identifier,
        labels={},
        kind="documented",
        sets=tuple(Assignment(parameter=name, value=value) for name, value in sets.items()),
    )
    return share_of(strategy, recipe_shares(STARTS))


def test_a_field_is_known_by_the_last_part_of_its_path() -> None:
    nested: dict[str, Any] = {"deep.level": 3}
    assert share(level=3) == share(**nested) == pytest.approx(0.7)


def test_all_that_a_strategy_sets_must_be_set() -> None:
    assert share(async_scheduling=True, block_size=64) == pytest.approx(0.3)
    assert share(async_scheduling=True, unheard=1) == 0


def test_a_strategy_named_by_its_widths_counts_the_recipes_of_these_widths() -> None:
    assert share("w8a8-weights", quantization="ascend") == pytest.approx(0.7)
    assert share("w4a8-weights", quantization="ascend") == 0


def test_work_without_settings_is_in_no_recipe() -> None:
    assert share("w8a8-by-hand") == 0
