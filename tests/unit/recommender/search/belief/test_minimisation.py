"""The optimiser of kernels beside SciPy's: the query path imports no scipy, so it has one of its own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recommender.search.belief.kernel import KernelPrior
from recommender.search.belief.minimisation import minimise
from recommender.search.belief.surrogate import PoolProcess


@pytest.fixture(scope="module")
def optimize() -> Any:
    """SciPy's optimisers."""
    return pytest.importorskip("scipy.optimize", reason="SciPy comes with the extra learn")


def evidence_of(
    seed: int, dimensions: int = 3, results: int = 14
) -> Callable[..., tuple[float, NDArray[np.float64]]]:
    """The negative log evidence of results of a smooth function of which one parameter means nothing."""
    rng = np.random.default_rng(seed)
    features = rng.random((60, dimensions)).astype(np.float32)
    y = np.sin(3 * features[:, 0]) + 0.5 * (features[:, 1] - 0.4) ** 2 + rng.normal(0, 0.03, 60)
    process = PoolProcess(
        features=features,
        groups=np.arange(dimensions),
        basis=np.ones((60, 1)),
        weights=np.array([float(y[:results].mean())]),
        covariance=np.eye(1) * 0.25,
        prior=KernelPrior.usual(dimensions, 1.0),
    )
    found: Callable[..., tuple[float, NDArray[np.float64]]] = process._evidence(
        np.arange(results), y[:results], np.ones(results)
    )
    return found


def start(dimensions: int = 3) -> NDArray[np.float64]:
    return np.asarray(KernelPrior.usual(dimensions, 1.0).mean.copy())


@pytest.mark.parametrize("seed", range(4))
def test_the_gradient_of_the_evidence_is_that_of_differences(seed: int, optimize: Any) -> None:
    evidence = evidence_of(seed)
    at = start() + np.random.default_rng(seed).normal(0, 0.3, len(start()))
    by_differences = optimize.approx_fprime(at, lambda x: evidence(x)[0], 1e-6)
    np.testing.assert_allclose(evidence(at)[1], by_differences, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("seed", range(8))
def test_a_kernel_is_as_likely_as_the_one_that_scipy_chooses(seed: int, optimize: Any) -> None:
    """Fifteen steps come within a twentieth of a nat, which moves no weight of an expert by more than 5 %."""
    evidence = evidence_of(seed)
    ours = evidence(minimise(evidence, start(), 15))[0]
    theirs = optimize.minimize(evidence, start(), jac=True, method="L-BFGS-B").fun
    assert ours == pytest.approx(theirs, abs=0.05)
    assert ours < evidence(start())[0]


@pytest.mark.parametrize("seed", range(4))
def test_a_quadratic_is_minimised_where_linear_algebra_says(seed: int, optimize: Any) -> None:
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(4, 4))
    matrix, middle = half @ half.T + np.eye(4), rng.normal(size=4)

    def quadratic(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        slope = matrix @ (x - middle)
        return 100 * float((x - middle) @ slope), 200 * slope

    found = minimise(quadratic, np.zeros(4), 60)
    theirs = optimize.minimize(quadratic, np.zeros(4), jac=True, method="L-BFGS-B").x
    np.testing.assert_allclose(found, middle, atol=5e-3)
    np.testing.assert_allclose(theirs, middle, atol=5e-3)


def test_it_stops_where_nothing_is_finite() -> None:
    assert minimise(lambda x: (np.inf, np.full_like(x, np.nan)), np.ones(2), 5).tolist() == [1.0, 1.0]
