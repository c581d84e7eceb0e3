"""Layouts of models whose sizes are not known."""

from dataclasses import replace

import pytest

from kg.errors import InfeasibleError, InputError
from kg.nouns.layout import ParallelLayout
from recommender.ranking.starts.layout_start import unpriced_layout
from tests.unit.recommender.ranking.starts.situations import draft, recipe, situation, weighed


def test_recipes_and_the_rule_of_thumb_choose_where_nothing_has_a_price() -> None:
    near = weighed(recipe("near", layout={"tp": 8, "dp": 2}, devices=16))
    made = unpriced_layout(draft(about=situation(count=16), behind=near))
    assert made is not None
    assert (made.tp, made.devices) == (8, 16)


def test_experts_are_spread_as_recipes_do() -> None:
    near = weighed(recipe("near", layout={"tp": 4, "dp": 4, "ep": 16}, devices=16))
    asked = situation(count=16)
    asked = replace(asked, model=replace(asked.model, is_mixture=True))
    made = unpriced_layout(draft(about=asked, behind=near))
    assert made is not None
    assert made.ep == 16


def test_sizes_in_use_hold_where_nothing_is_priced() -> None:
    asked = situation(count=6, current={"-tp": 2})
    assert unpriced_layout(draft(about=asked)) == ParallelLayout(tp=2, dp=3)
    noted = draft(about=situation(count=6, current={"tp": 2, "dp": 2}))
    assert unpriced_layout(noted) == ParallelLayout(tp=2, dp=2)
    assert noted.notes == ["4 of 6 devices are used: TP 2 x DP 2 is told"]
    with pytest.raises(InputError, match="its parallel sizes take 8 devices, of 6"):
        unpriced_layout(draft(about=situation(count=6, current={"tp": 8})))
    heavy = draft(about=asked)
    heavy.least_devices = 3
    with pytest.raises(InfeasibleError, match="TP 2 x DP 3 leaves a device more weights than it holds"):
        unpriced_layout(heavy)


def test_the_weights_alone_are_split_over_devices_that_divide() -> None:
    heavy = draft(about=situation(count=6))
    heavy.least_devices = 3
    assert unpriced_layout(heavy) == ParallelLayout(tp=3, dp=2)


def test_without_recipes_each_device_has_a_replica() -> None:
    assert unpriced_layout(draft(about=situation(count=4))) == ParallelLayout(dp=4)
    assert unpriced_layout(draft(about=situation(count=None))) is None
