"""Acquisition functions against sampling."""

import math

import numpy as np
import pytest

from recommender.search.belief.acquisition import log_expected_improvement, normal_cdf


def test_the_distribution_function() -> None:
    z = np.linspace(-6, 6, 41)
    exact = [0.5 * (1 + math.erf(x / math.sqrt(2))) for x in z]
    assert normal_cdf(z) == pytest.approx(exact, abs=2e-7)


@pytest.mark.parametrize("z", [-3.0, -1.0, 0.0, 2.0])
def test_expected_improvement_is_what_sampling_gives(z: float) -> None:
    drawn = np.random.default_rng(0).normal(0.0, 0.5, 400_000)
    expected = np.maximum(0.5 * z - drawn, 0).mean()
    found = np.exp(log_expected_improvement(np.zeros(1), np.array([0.5]), 0.5 * z))[0]
    assert found == pytest.approx(expected, rel=0.03, abs=2e-5)


def test_far_away_it_still_has_an_order() -> None:
    found = log_expected_improvement(np.linspace(1, 100, 50), np.full(50, 0.1), 0.0)
    assert np.isfinite(found).all()
    assert (np.diff(found) < 0).all()
    near = log_expected_improvement(np.array([0.19999, 0.20001]), np.full(2, 0.1), 0.0)
    assert near[0] == pytest.approx(near[1], abs=0.002)


def test_a_deviation_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        log_expected_improvement(np.zeros(1), np.zeros(1), 0.0)
