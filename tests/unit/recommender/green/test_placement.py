"""Placement is exact: compared with trying everything."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.green.history import Floats
from recommender.green.placement import best_start, cheapest_pieces, cheapest_slots, pieces

prices = st.lists(st.integers(1, 20), min_size=4, max_size=9).map(lambda some: np.array(some, dtype=float))


def cost_of(price: Floats, slots: Any, restart: float) -> float:
    return float(price[list(slots)].sum()) + restart * (len(pieces(np.array(slots))) - 1)


@given(price=prices, length=st.integers(1, 4), least=st.integers(1, 4), restart=st.integers(0, 6))
def test_pieces_are_as_cheap_as_the_best_of_all_choices(
    price: Floats, length: int, least: int, restart: float
) -> None:
    least = min(least, length)
    allowed = [
        chosen
        for chosen in combinations(range(len(price)), length)
        if all(count >= least for _, count in pieces(np.array(chosen)))
    ]
    best = min(cost_of(price, chosen, restart) for chosen in allowed)
    found = cheapest_pieces(price, length, least, restart)
    assert len(found) == length
    assert all(count >= least for _, count in pieces(found))
    assert cost_of(price, found, restart) == pytest.approx(best)


@given(price=prices, length=st.integers(1, 4))
def test_pieces_without_conditions_are_the_cheapest_slots(price: Floats, length: int) -> None:
    slots = cheapest_slots(price, length)
    assert price[slots].sum() == pytest.approx(price[cheapest_pieces(price, length, 1, 0.0)].sum())
    assert price[slots].sum() <= price[best_start(price, length) + np.arange(length)].sum() + 1e-9


def test_equal_prices_start_now() -> None:
    flat = np.full(20, 7.0)
    assert best_start(flat, 5) == 0
    assert cheapest_slots(flat, 5).tolist() == [0, 1, 2, 3, 4]
    assert cheapest_pieces(flat, 5, 2, 1.0).tolist() == [0, 1, 2, 3, 4]


def test_a_restart_that_costs_more_than_it_saves_is_not_made() -> None:
    price = np.array([1.0, 5, 1, 9, 9])
    assert cheapest_pieces(price, 2, 1, 3.0).tolist() == [0, 2]
    assert cheapest_pieces(price, 2, 1, 5.0).tolist() == [0, 1]


@pytest.mark.parametrize("choose", [best_start, cheapest_slots])
def test_a_job_longer_than_the_window_is_refused(choose: Any) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        choose(np.ones(3), 4)


def test_a_running_job_pays_for_a_later_start() -> None:
    price = np.array([5.0, 4, 4, 9])
    assert cheapest_pieces(price, 2, 1, 2.0).tolist() == [1, 2]
    assert cheapest_pieces(price, 2, 1, 2.0, is_running=True).tolist() == [0, 1]
