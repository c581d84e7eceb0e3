"""Acquisition functions against sampling."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recommender.search.acquisition import (
    expected_hypervolume_improvement,
    log_expected_improvement,
    normal_cdf,
)
from recommender.search.pareto import hypervolume


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


def test_expected_hypervolume_improvement_is_what_sampling_gives() -> None:
    rng = np.random.default_rng(1)
    front, reference = np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]), np.array([1.0, 1.0])
    mean, std = (
        np.array([[0.4, 0.4], [0.9, 0.9], [0.1, 0.5]]),
        np.array([[0.1, 0.2], [0.3, 0.3], [0.05, 0.4]]),
    )
    found = expected_hypervolume_improvement(mean, std, front, reference)
    now = hypervolume(front, reference)
    for k in range(3):
        drawn = mean[k] + std[k] * rng.standard_normal((4000, 2))
        gains = [hypervolume(np.vstack([front, point]), reference) - now for point in drawn]
        sigma = np.std(gains) / math.sqrt(len(gains))
        assert abs(found[k] - np.mean(gains)) < 4 * sigma + 1e-6  # four sigma of the sampling
