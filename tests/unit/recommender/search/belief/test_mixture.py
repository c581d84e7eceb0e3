"""Several beliefs and their weights."""

import math

import numpy as np
import pytest

from recommender.search.belief.mixture import Mixture, log_expected_improvement, normal_cdf


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


RNG = np.random.default_rng(0)
F = RNG.random((300, 3)).astype(np.float32)
TRUTH = 2 * np.sin(3 * F[:, 0].astype(float)) + F[:, 1]


def mixture(predictions: np.ndarray | None = None) -> Mixture:
    foretold = np.zeros((300, 0)) if predictions is None else predictions[:, None]
    return Mixture(features=F, groups=np.arange(3), predictions=foretold, shares=np.ones(foretold.shape[1]))


def told(beliefs: Mixture, count: int) -> Mixture:
    for row in range(count):
        beliefs.tell(row, float(TRUTH[row]))
    return beliefs


def test_a_right_source_keeps_its_say_and_a_wrong_one_loses_it() -> None:
    right = told(mixture(TRUTH - TRUTH.mean()), 15)
    wrong = told(mixture(RNG.permutation(TRUTH) - TRUTH.mean()), 15)
    assert right.weights[0] > 0.9
    assert wrong.weights[0] < 0.5


def test_failures_are_worse_than_anything_that_ran() -> None:
    beliefs = told(mixture(), 10)
    worst = int(np.argmax(TRUTH[20:])) + 20
    before = beliefs.mean[worst]
    beliefs.tell(20, np.inf)
    assert np.isfinite(beliefs.mean).all()
    assert beliefs.mean[20] > TRUTH[:10].mean()
    assert np.isfinite(before)


def test_believing_is_undone() -> None:
    beliefs = told(mixture(), 8)
    kept, mean = beliefs.snapshot(), beliefs.mean.copy()
    beliefs.believe([100, 200])
    assert beliefs.variance[100] < 0.5 * (told(mixture(), 8).variance[100] + 1e-3)
    beliefs.restore(kept)
    assert np.array_equal(beliefs.mean, mean)


def test_one_row_is_as_all_rows() -> None:
    beliefs = told(mixture(TRUTH), 9)
    mean, stdev = beliefs.at(50)
    assert mean == pytest.approx(beliefs.mean[50])
    assert stdev**2 == pytest.approx(beliefs.variance[50])
    assert beliefs.look(F[40:60], TRUTH[40:60, None], 0.5) == pytest.approx(
        beliefs.log_improvement(0.5)[40:60], abs=0.05, rel=0.05
    )


def test_the_unit_of_the_metric_does_not_matter() -> None:
    plain, shifted = mixture(TRUTH - TRUTH.mean()), mixture(TRUTH - TRUTH.mean())
    for row in range(9):
        plain.tell(row, float(TRUTH[row]))
        shifted.tell(row, float(TRUTH[row]) - 7.0)
        assert shifted.mean == pytest.approx(plain.mean - 7.0, abs=0.02)
        assert shifted.weights == pytest.approx(plain.weights, abs=0.02)
