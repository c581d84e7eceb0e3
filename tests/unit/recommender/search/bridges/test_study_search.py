"""Scales of objectives."""

import math

import pytest

from recommender.search.bridges.study_search import ObjectiveScale


def test_differences_count_from_the_best_in_units_of_the_median_gap() -> None:
    scale = ObjectiveScale.of([10.0, 14.0, 12.0, 30.0, 10.0], higher=False)
    assert (scale.origin, scale.unit) == (10.0, 2.0)
    assert [scale.log_cost(value) for value in (10.0, 12.0, 9.0, 30.0)] == [0.0, 1.0, -0.5, 10.0]


@pytest.mark.parametrize(("times", "plus"), [(1.0, -5.0), (1e-3, 0.0), (-2.0, 7.0)])
def test_a_scale_does_not_depend_on_units_or_offset(times: float, plus: float) -> None:
    values = [3.0, 8.0, 4.0, 5.5]
    plain = ObjectiveScale.of(values, higher=False)
    other = ObjectiveScale.of([times * value + plus for value in values], higher=times < 0)
    for value in (2.5, 3.0, 20.0):
        assert other.log_cost(times * value + plus) == pytest.approx(plain.log_cost(value))


def test_a_ratio_scale_is_the_logarithm_and_has_no_place_for_zero() -> None:
    scale = ObjectiveScale(higher=True)
    assert scale.log_cost(8.0) == -math.log(8.0)
    assert [scale.fits(value) for value in (0.0, -1.0, 1e-9, math.inf, math.nan)] == [
        False,
        False,
        True,
        False,
        False,
    ]
    assert ObjectiveScale.of([1.0], higher=True).fits(-1.0)


def test_what_is_bent_keeps_its_order() -> None:
    scale = ObjectiveScale.of([0.0, 1.0, 2.0], higher=False, bends=True)
    costs = [scale.log_cost(value) for value in (-1.0, 0.0, 1.0, 10.0, 15.0)]
    assert costs == sorted(costs)
    assert costs[3] == pytest.approx(math.log(11))


def test_equal_or_huge_values_have_a_scale() -> None:
    assert ObjectiveScale.of([2.0, 2.0], higher=False).log_cost(3.0) == 1.0
    huge = ObjectiveScale.of([-1e308, 1e308, 0.0], higher=False)
    assert math.isfinite(huge.log_cost(1e308))
    assert ObjectiveScale.of([], higher=False).log_cost(-7.0) == -7.0
