"""The model of one source."""

import numpy as np
import pytest

from kg.nouns.values import Settings
from recommender.search.belief.source_model import SourceModel
from recommender.search.belief.transfer import learn
from recommender.search.evaluations import SourceTable
from recommender.space.space_file import read_space

SPACE = read_space({"parameters": {"tile": [16, 32, 64, 128, 256], "own": [1, 2]}})


def model(costs: list[float]) -> SourceModel:
    tiles = (16, 32, 64, 128)[: len(costs)]
    table = SourceTable(
        name="sibling",
        similarity=0.9,
        configurations=[Settings({"tile": tile, "own": 1}) for tile in tiles],
        costs=np.array(costs),
    )
    found = learn(SPACE, table)
    assert found is not None
    return found


def test_a_failure_of_a_source_is_never_its_best() -> None:
    assert model([np.inf, 3.0, 1.0, np.inf]).best() == [2, 1]


def test_it_foretells_what_it_saw_relative_to_its_median() -> None:
    source = model([8.0, 4.0, 2.0, 1.0])
    points = SPACE.encode([Settings({"tile": tile, "own": 1}) for tile in (16, 32, 64, 128)])
    found = source.predict(SPACE.features(points))
    assert np.argsort(found).tolist() == [3, 2, 1, 0]
    scaled = source.scaled(SPACE.features(points))
    variances = np.diag(source.covariance(scaled, scaled))
    assert variances == pytest.approx(np.full(4, source.variance), rel=1e-5)
    reduced = variances - (source.whitened(scaled) ** 2).sum(axis=0)
    assert (reduced >= -1e-5).all()
    assert (reduced < 0.3 * source.variance).all()  # what was measured is known better
