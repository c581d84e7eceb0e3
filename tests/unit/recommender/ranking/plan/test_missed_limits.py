"""Limits that nothing keeps, by the price of the start."""

import pytest

from kg.nouns.entities import Limit
from kg.nouns.gain import Gain
from kg.nouns.layout import ParallelLayout
from recommender.cost_model.priced_step import PricedStep
from recommender.ranking.plan.missed_limits import missed_limits

PRICE = PricedStep(layout=ParallelLayout(), results={"tpot_s": 0.02}, spread=0.2)
DOUBLE = Gain(expected=0.6931, low=0.6, high=0.8)


def limit(maximum: float, metric: str = "tpot") -> Limit:
    return Limit(metric=metric, maximum=maximum, unit="s")


def test_a_limit_that_is_kept_or_not_modelled_is_not_missed() -> None:
    assert missed_limits([limit(0.02), limit(1.0, "accuracy_loss")], PRICE, None) == ()
    assert missed_limits([limit(0.01)], None, None) == ()
    assert missed_limits([], PRICE, None) == ()


@pytest.mark.parametrize(
    ("maximum", "changes", "within_reach"),
    [(0.019, None, True), (0.01, None, False), (0.01, DOUBLE, True), (0.004, DOUBLE, False)],
)
def test_what_changes_may_win_is_within_reach(
    maximum: float, changes: Gain | None, within_reach: bool
) -> None:
    [missed] = missed_limits([limit(maximum)], PRICE, changes)
    assert (missed.value, missed.within_reach) == (0.02, within_reach)
    assert missed.low < missed.value < missed.high


def test_at_the_limit_with_its_changes_the_chance_is_even() -> None:
    [missed] = missed_limits([limit(0.01)], PRICE, DOUBLE)
    assert missed.chance == pytest.approx(0.5, abs=1e-3)
