"""The rates of a confirmation; its pairs are in test_tuner and test_serving_run."""

import pytest

from recommender.tune.confirmation import ladder


@pytest.mark.parametrize(("baseline", "winner"), [(4, 9), (9, 4), (5, 5), (5, 5.2), (100, 60)])
def test_rates_rise_and_hold_both(baseline: float, winner: float) -> None:
    low, middle, high = ladder(baseline, winner)
    assert low <= min(baseline, winner)
    assert max(baseline, winner) <= high
    assert middle / low >= 1.0999
    assert high / middle >= 1.0999
