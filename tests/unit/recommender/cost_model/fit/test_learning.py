from importlib.util import find_spec

import numpy as np
import pytest

from recommender.cost_model.fit import learning
from recommender.cost_model.operators.residual import Residual, residual_of

pytestmark = pytest.mark.skipif(
    find_spec("sklearn") is None, reason="scikit-learn comes with the extra learn"
)


def sample(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, size=(n, 3))
    return x, 0.3 * np.sin(3 * x[:, 0]) + 0.2 * x[:, 1]


def test_the_forest_predicts_what_the_trees_of_sklearn_say_with_the_least_relative_error() -> None:
    from sklearn.ensemble import ExtraTreesRegressor

    x, y = sample()
    known = ExtraTreesRegressor(
        learning.TREES, max_features=0.8, min_samples_leaf=1, min_samples_split=4, random_state=0
    ).fit(x.astype(np.float32), y)
    queries = np.random.default_rng(5).uniform(-1.2, 1.2, size=(300, 3))
    ours = learning.fit_forest(x, y).predict(queries)
    trees = np.stack([tree.predict(queries.astype(np.float32)) for tree in known.estimators_])
    miss = np.abs(np.expm1(ours[None, None] - trees[:, None])).mean(0)[0]
    others = np.abs(np.expm1(trees[:, None] - trees[None])).mean(1)  # (candidate, query)
    assert miss == pytest.approx(others.min(0), abs=1e-5)


def test_of_two_times_a_kernel_takes_one_is_predicted() -> None:
    """Half of the points last twice as long for no reason: the shorter time has the least relative error."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, size=(200, 2))
    y = np.where(rng.random(200) < 0.5, np.log(2), 0.0)
    rows = [np.arange(i, 200, 5) for i in range(5)]
    guess = learning.fit_residual(x, y, np.zeros(200), kernels=((0, 1),), groups=rows).predict(x[:50])
    assert np.median(guess) < 0.5 * np.log(2)


def test_leaving_a_group_out_by_one_inverse_is_fitting_without_it() -> None:
    x, y = sample(40)
    groups = [np.arange(i, 40, 4) for i in range(4)]
    fit = learning.fit_process(
        x, y, np.zeros(40), kernels=((0, 1, 2),), groups=groups, rough=False, iterations=8
    )
    rest = np.setdiff1d(np.arange(40), groups[0])
    theta_scale = np.exp(fit[0].scales[0])
    a = x * theta_scale
    square = np.maximum((a * a).sum(1)[:, None] + (a * a).sum(1)[None] - 2 * a @ a.T, 1e-6)
    kernel = np.exp(2 * fit[0].amplitudes[0]) * (1 + np.sqrt(3 * square)) * np.exp(-np.sqrt(3 * square))
    # weights = (K + noise)^-1 (y - mean) gives the noise back on the diagonal
    noise = ((y - fit[0].mean) - kernel @ fit[0].weights) / fit[0].weights
    full = kernel + np.diag(noise)
    by_hand = fit[0].mean + kernel[np.ix_(groups[0], rest)] @ np.linalg.solve(
        full[np.ix_(rest, rest)], (y - fit[0].mean)[rest]
    )
    assert fit[1][groups[0]] == pytest.approx(by_hand, abs=1e-4)


def test_the_process_interpolates_a_smooth_function() -> None:
    x, y = sample()
    groups = [np.arange(i, 120, 6) for i in range(6)]
    fit = learning.fit_process(
        x, y, np.zeros(120), kernels=((0, 1, 2),), groups=groups, rough=False, iterations=25
    )
    assert np.mean(np.abs(fit[1] - y)) < 0.03
    assert fit[0].predict(x) == pytest.approx(y, abs=0.05)


def test_pure_noise_gets_no_weight() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    residual = learning.fit_residual(
        x,
        rng.normal(scale=0.3, size=60),
        np.zeros(60),
        kernels=((0, 1),),
        groups=[np.arange(i, 60, 6) for i in range(6)],
        trees=False,
    )
    assert np.std(residual.predict(x)) < 0.1


def test_arrays_carry_a_residual_whole() -> None:
    x, y = sample(50)
    groups = [np.arange(i, 50, 5) for i in range(5)]
    residual = learning.fit_residual(x, y, np.zeros(50), kernels=((0, 1, 2),), groups=groups)
    again = residual_of(residual.arrays())
    assert again.predict(x) == pytest.approx(residual.predict(x), abs=1e-6)
    empty = residual_of(Residual(None, None, 0.0).arrays())
    assert np.all(empty.predict(x) == 0)


def test_constants_are_found_again() -> None:
    x = np.linspace(1, 50, 40)

    def times(logs: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(logs[0]) + x * np.exp(logs[1]))

    truth = np.log([5.0, 0.7])
    found = learning.fit_constants(times, np.log([3.0, 1.0]), times(truth), pull=1e-4)
    assert np.exp(found) == pytest.approx([5.0, 0.7], rel=0.02)
