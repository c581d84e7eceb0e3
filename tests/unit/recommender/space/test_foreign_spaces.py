"""Spaces of other tools."""

import pytest

from kg.nouns.values import Settings
from recommender.space.foreign_spaces import space_of_distributions


def test_distributions_are_a_space() -> None:
    distributions = pytest.importorskip("optuna").distributions
    space = space_of_distributions(
        {
            "lr": distributions.FloatDistribution(1e-4, 1, log=True),
            "n": distributions.IntDistribution(2, 8, step=2),
            "c": distributions.CategoricalDistribution(("u", "v")),
        }
    )
    assert space.parameters[1].values == (2, 4, 6, 8)
    assert space.violated(Settings({"lr": 0.1, "n": 4, "c": "u"})) is None
