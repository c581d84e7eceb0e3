"""A positive quantity that grows with its features."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recommender.calibration.monotone import MonotoneModel


def fitted(rows: np.ndarray, values: np.ndarray) -> MonotoneModel:
    names = [f"f{at}" for at in range(rows.shape[1])]
    return MonotoneModel.fit(names, rows, values, np.ones(len(rows)))


def test_it_finds_what_made_the_values() -> None:
    rng = np.random.default_rng(0)
    rows = rng.uniform(0, 2, (4000, 2))
    values = np.exp(-1.5 + rows @ [0.8, 0.0]) * rng.gamma(4, 0.25, 4000)
    model = fitted(rows, values)
    assert model.weights[0] == pytest.approx(0.8, abs=0.1)
    assert model.weights[1] < 0.05
    assert model.expect(np.array([1.0, 1.0])) == pytest.approx(np.exp(-0.7), rel=0.1)


def test_nothing_to_learn_from_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing"):
        fitted(np.zeros((0, 2)), np.zeros(0))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 3), st.integers(0, 2))
def test_more_of_a_feature_is_never_better(seed: int, more: float, place: int) -> None:
    rng = np.random.default_rng(seed)
    model = fitted(rng.normal(size=(40, 3)), rng.exponential(size=40))
    row = rng.normal(size=3)
    raised = row.copy()
    raised[place] += more
    assert model.expect(raised) >= model.expect(row)


def test_it_comes_back_from_json() -> None:
    rng = np.random.default_rng(1)
    model = fitted(rng.normal(size=(100, 3)), rng.exponential(size=100))
    again = MonotoneModel.from_json(model.to_json(), model.features)
    row = np.array([0.3, -1.0, 2.0])
    assert again.expect(row) == pytest.approx(float(model.expect(row)), rel=1e-4)
    with pytest.raises(KeyError):
        MonotoneModel.from_json(model.to_json(), ("unheard of",))


def test_factors_name_what_weighs_most() -> None:
    model = MonotoneModel(features=("a", "b"), bias=0.0, weights=np.array([0.1, 1.0]))
    assert list(model.factors(np.array([1.0, 1.0]))) == ["b", "a"]
