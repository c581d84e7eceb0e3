"""The sources of a search: models of similar problems, and their predictions for its candidates."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recommender.search.belief.transfer import MOST_SOURCES, learn
from recommender.search.engine.feasibility import FeasibilityModel
from recommender.search.evaluations import SourceTable
from recommender.space.space import SearchSpace

_FOREIGN_FAILURE = 0.25
"""Weight of a failure on a similar problem beside one here; a choice: failures differ by device."""


class Sources:
    """The models of the similar problems that a search starts from.

    Args:
        space: Of the search.
        tables: What was measured; the most similar few that share parameters are learned.
        soft: Whether costs are warped.

    Attributes:
        models: One a source, most similar first.
        shares: First coefficients, shape (s,): squared similarities, which sum to the largest of them.
    """

    def __init__(self, space: SearchSpace, tables: Sequence[SourceTable], *, soft: bool) -> None:
        nearest = sorted(tables, key=lambda table: -table.similarity)[:MOST_SOURCES]
        self._space = space
        self.models = [model for table in nearest if (model := learn(space, table, soft=soft))]
        squared = np.array([model.similarity for model in self.models]) ** 2
        self.shares: NDArray[np.float64] = squared / squared.sum() if squared.sum() else squared

    def __bool__(self) -> bool:
        """True if there is any."""
        return bool(self.models)

    def predictions(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Relative log costs, shape (n, s)."""
        found = np.zeros((len(features), len(self.models)))
        for column, model in enumerate(self.models):
            found[:, column] = model.predict(features)
        return found

    def teach(self, feasibility: FeasibilityModel) -> None:
        """Add the failures of the sources to a model, where all parameters are shared."""
        for model in self.models:
            ran = np.isfinite(model.costs)
            if model.shared.all() and not ran.all():
                weight = _FOREIGN_FAILURE * model.similarity
                feasibility.add(self._space.features(model.points), ~ran, weight)
