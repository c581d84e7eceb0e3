"""Times of an output token: factors of parts, and what other devices and models lend."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from recommender.calibration.step_rates import StepFeatures, StepKernel, StepRates, fit_factors

KERNEL = StepKernel.shipped()
RNG = np.random.default_rng(1)


def features(device: NDArray[np.int64], loads: NDArray[np.float64]) -> StepFeatures:
    n = len(loads)
    kinds = np.column_stack([device, *([np.full(n, number) for number in (10, 11, 12, 13, 14)])])
    sizes = np.column_stack([loads, np.full(n, 2.0), np.full(n, 10.0), np.full(n, 10.0)])
    return StepFeatures(kinds, sizes, np.zeros((n, 3)))


def rows(n: int, device: int) -> tuple[StepFeatures, NDArray[np.float64]]:
    loads = RNG.uniform(0, 8, n)
    return features(np.full(n, device), loads), RNG.uniform(1e-3, 1e-2, (n, 3))


def test_factors_of_the_parts_are_found() -> None:
    known, parts = rows(300, 0)
    times = parts @ np.array([0.5, 1.0, 1.6])
    assert fit_factors(known, parts, times) == pytest.approx([0.5, 1.0, 1.6], rel=0.15)


def test_without_news_the_factors_stay_near_one() -> None:
    known, parts = rows(3, 0)
    assert fit_factors(known, parts, parts.sum(axis=1)) == pytest.approx([1, 1, 1], abs=1e-6)


def test_measured_rows_are_met_and_are_surer_than_others() -> None:
    known, parts = rows(60, 0)
    times = parts.sum(axis=1) * np.exp(0.3 * np.sin(known.sizes[:, 0] / 3))
    rates = StepRates.fit(KERNEL, known, parts, times)
    mean, spread = rates.predict(known, parts)
    assert np.abs(mean - np.log(times)).max() < 0.15
    far = StepFeatures(known.kinds + 100, known.sizes, known.switches)
    assert rates.predict(far, parts)[1].min() > spread.max()


def test_a_new_device_borrows_what_known_ones_share() -> None:
    known, parts = rows(60, 0)
    times = parts.sum(axis=1) * 2.0
    rates = StepRates.fit(KERNEL, known, parts, times)
    asked, others = rows(20, 1)
    mean, _ = rates.predict(asked, others)
    assert np.abs(mean - np.log(2 * others.sum(axis=1))).max() < 0.2


def test_a_kernel_is_its_numbers_and_a_covariance() -> None:
    assert StepKernel.of(KERNEL.values()) == KERNEL
    known, _ = rows(40, 0)
    covariance = KERNEL.covariance(known, known)
    assert np.allclose(covariance, covariance.T)
    assert np.allclose(np.diag(covariance), KERNEL.variance)
    assert np.linalg.eigvalsh(covariance).min() > -1e-9
    some = np.array([3, 1])
    assert np.allclose(KERNEL.covariance(known.part(some), known), covariance[some])
