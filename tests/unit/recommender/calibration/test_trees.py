"""Trees as arrays answer what scikit-learn's own trees answer."""

from importlib.util import find_spec

import numpy as np
import pytest

from recommender.calibration.trees import DEPTH, BoostedTrees

pytestmark = pytest.mark.skipif(
    find_spec("sklearn") is None, reason="scikit-learn comes with the extra learn"
)


def data(n: int = 600, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 4))
    features[rng.random((n, 4)) < 0.1] = np.nan
    targets = np.nan_to_num(features[:, 0]) * 2 + np.abs(np.nan_to_num(features[:, 1]))
    return features, targets


def test_the_arrays_answer_what_scikit_learn_answers() -> None:
    from sklearn.ensemble import HistGradientBoostingRegressor

    features, targets = data()
    ours = BoostedTrees.fit(features, targets)
    theirs = HistGradientBoostingRegressor(
        max_iter=len(ours.value),
        learning_rate=0.15,
        max_leaf_nodes=16,
        max_depth=DEPTH,
        min_samples_leaf=10,
        early_stopping=False,
        random_state=0,
    ).fit(features, targets)
    unseen, _ = data(seed=4)
    np.testing.assert_allclose(ours.predict(unseen), theirs.predict(unseen), rtol=1e-9, atol=1e-12)


def test_arrays_survive_the_round_trip() -> None:
    features, targets = data(200)
    trees = BoostedTrees.fit(features, targets)
    again = BoostedTrees.from_arrays(trees.to_arrays())
    np.testing.assert_array_equal(again.predict(features), trees.predict(features))


def test_a_column_that_is_never_known_and_no_rows_are_no_trouble() -> None:
    features, targets = data(200)
    features[:, 2] = np.nan
    trees = BoostedTrees.fit(features, targets)
    assert np.isfinite(trees.predict(features)).all()
    assert trees.predict(features[:0]).shape == (0,)
