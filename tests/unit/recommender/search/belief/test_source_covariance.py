"""Doubt of sources."""

import numpy as np
import pytest

from kg.nouns.values import Settings
from recommender.search.belief.source_covariance import Doubt
from recommender.search.belief.transfer import learn
from recommender.search.evaluations import SourceTable
from recommender.space.parameters import Parameter, ParameterKind
from recommender.space.space import SearchSpace

SPACE = SearchSpace(
    parameters=(
        Parameter(name="tile", kind=ParameterKind.ORDINAL, values=tuple(range(1, 31))),
        Parameter(name="unroll", kind=ParameterKind.ORDINAL, values=(1, 2, 4, 8)),
    )
)
POINTS = np.concatenate(list(SPACE.blocks()))
FEATURES = SPACE.features(POINTS)
CONFIGURATIONS = SPACE.decode(POINTS)


def doubt(rows: slice = slice(None)) -> Doubt:
    known = [c for c in CONFIGURATIONS if float(str(c["tile"])) <= 10]
    costs = np.array([1.0 + float(str(c["tile"])) / 10 for c in known])
    source = learn(SPACE, SourceTable(name="s", similarity=1.0, configurations=known, costs=costs))
    assert source is not None
    return Doubt([source], np.array([1.0]), FEATURES[rows])


def test_doubt_is_small_where_the_source_was_and_large_where_it_was_not() -> None:
    tiles = np.array([float(str(c["tile"])) for c in CONFIGURATIONS])
    variance = doubt().variance
    assert variance[tiles > 25].min() > 20 * variance[tiles <= 10].max()


def test_it_is_a_covariance() -> None:
    rows = np.arange(0, len(POINTS), 3)
    found = doubt()
    between = found.between(rows, rows).astype(float)
    assert between == pytest.approx(between.T, abs=1e-5)
    assert np.diag(between) == pytest.approx(found.variance[rows], abs=1e-4)
    assert np.linalg.eigvalsh(between).min() > -1e-4


def test_a_larger_pool_is_as_one_from_the_start() -> None:
    grown, whole = doubt(slice(0, 60)), doubt()
    grown.append(FEATURES[60:])
    rows = np.array([1, 59, 61, 100])
    assert grown.variance == pytest.approx(whole.variance, abs=1e-5)
    assert grown.between(rows, slice(None)) == pytest.approx(whole.between(rows, slice(None)), abs=1e-5)


def test_a_source_that_counts_for_next_to_nothing_adds_none() -> None:
    known = CONFIGURATIONS[:5]
    assert isinstance(known[0], Settings)
    source = learn(
        SPACE, SourceTable(name="s", similarity=0.1, configurations=known, costs=np.arange(1.0, 6.0))
    )
    assert source is not None
    assert not Doubt([source], np.array([0.01]), FEATURES).variance.any()
