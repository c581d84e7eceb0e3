"""Floors of whole steps."""

import math

import pytest

from benchmarks.cost_models.floors import FLOORS, Work, floor_values

RATE = Work(100.0, 400.0, ("one", "m", "a", "throughput"), (1.0, 2.0))
TIME = Work(0.01, 0.0025, ("one", "m", "a", "tpot"), (1.0, 2.0))


def test_one_scale_is_learned_whether_rows_are_rates_or_times() -> None:
    known = [(RATE, 50.0), (TIME, 0.02)]  # both twice as slow as the roofline
    assert floor_values(RATE, known)["roofline_scaled"] == pytest.approx(50)
    assert floor_values(TIME, known)["roofline_scaled"] == pytest.approx(0.02)


def test_the_nearest_row_is_one_of_the_same_names_before_one_of_the_same_size() -> None:
    other = Work(100.0, 400.0, ("other", "n", "a", "throughput"), (1.0, 2.0))
    far = Work(100.0, 400.0, ("one", "m", "a", "throughput"), (3.0, 4.0))
    assert floor_values(RATE, [(other, 10.0), (far, 80.0)])["nearest_scaled"] == pytest.approx(80)


def test_nothing_known_says_nothing() -> None:
    assert all(math.isnan(value) for value in floor_values(RATE, []).values())
    assert set(floor_values(RATE, [])) == set(FLOORS)
