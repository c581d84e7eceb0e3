"""Location and scale that one observation cannot move far."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.ranking.changes.robust import (
    K,
    clipped_square,
    location_and_scale,
    mean_square,
    variance_of,
)

LEAST = 0.01


def drawn(count: int, seed: int = 1) -> list[float]:
    rng = random.Random(seed)
    return [rng.gauss(0.1, 0.2) for _ in range(count)]


def test_of_normal_observations_they_are_mean_and_deviation() -> None:
    values = drawn(4000)
    location, scale = location_and_scale(values, [1.0] * len(values), LEAST)
    assert location == pytest.approx(statistics.fmean(values), abs=0.01)
    assert scale == pytest.approx(statistics.stdev(values), rel=0.03)


@given(st.floats(-1e6, 1e6))
def test_one_observation_moves_neither_beyond_its_bound(wild: float) -> None:
    values = drawn(31)
    before = location_and_scale(values, [1.0] * 31, LEAST)
    after = location_and_scale([*values, wild], [1.0] * 32, LEAST)
    assert abs(after[0] - before[0]) < 1.2 * K * after[1] / 31
    assert 0.9 < after[1] / before[1] < 1.12


def test_a_weight_counts_as_so_many_observations() -> None:
    values = drawn(9)
    doubled = location_and_scale([*values, *values[:3]], [1.0] * 12, LEAST)
    assert location_and_scale(values, [2.0] * 3 + [1.0] * 6, LEAST) == pytest.approx(doubled, rel=1e-6)


def test_the_mean_of_clipped_squares_is_that_of_a_normal() -> None:
    rng = random.Random(2)
    sample = statistics.fmean(min(rng.gauss(0, 1) ** 2, K * K) for _ in range(200_000))
    assert mean_square(K) == pytest.approx(sample, abs=0.01)
    assert mean_square(50.0) == pytest.approx(1.0)


@given(st.floats(0.001, 1))
def test_a_variance_follows_from_its_clipped_square(variance: float) -> None:
    assert variance_of(clipped_square(variance)) == pytest.approx(variance, rel=1e-6)
