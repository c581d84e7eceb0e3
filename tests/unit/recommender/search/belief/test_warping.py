"""Costs brought nearer to the best."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.search.belief.warping import unwarp, warp

costs = st.floats(-5, 5)


@given(st.lists(costs, min_size=2, max_size=20), costs)
def test_order_stays_and_nothing_moves_away(values: list[float], best: float) -> None:
    found = warp(np.array(values), best)
    assert (np.diff(found[np.argsort(values)]) >= 0).all()
    assert (np.abs(found - best) <= np.abs(np.array(values) - best) + 1e-12).all()


@given(costs, costs)
def test_it_can_be_undone(cost: float, best: float) -> None:
    again, stdev = unwarp(float(warp(np.array(cost), best)), 0.1, best)
    assert again == pytest.approx(cost, abs=1e-9)
    assert stdev >= 0.1


def test_near_the_best_a_cost_is_what_it_was_and_far_above_much_less() -> None:
    assert warp(np.array(0.01), 0.0) == pytest.approx(0.01, rel=0.02)
    assert warp(np.array(np.log(100.0)), 0.0) < 0.3 * np.log(100.0)
    assert warp(np.array(-0.3), 0.0) == pytest.approx(-0.3)
