"""Costs of configurations that nobody evaluated, from those that somebody did: kernel ridge regression.

X: evaluated configurations in the unit cube, shape (n, d); y: their log costs, shape (n,). Small and exact;
a search proposes with a surrogate of its own (``recommender.search.belief.surrogate``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kg.nouns.values import Settings
    from recommender.space.space import SearchSpace

_LENGTHS = (0.15, 0.3, 0.6, 1.2, 2.4)
_RIDGES = (1e-4, 1e-3, 1e-2, 1e-1)
"""Tried length scales and noise levels; the pair with the least leave-one-out error is taken."""
LEAST = 5
"""Evaluations below which nothing is predicted; a choice."""


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """Predicts log costs within one space.

    Attributes:
        space: Of the configurations.
        configurations: Evaluated ones, each once.
        costs: Their log costs, shape (n,).
    """

    space: SearchSpace
    configurations: Sequence[Settings]
    costs: NDArray[np.float64]

    def __call__(self, configuration: Settings) -> tuple[float, bool]:
        """Log cost of a configuration, and whether it was evaluated; inf where nothing can be predicted."""
        if configuration in self._known:
            return self._known[configuration], True
        if self._fit is None:
            return math.inf, False
        weights, length, mean = self._fit
        kernel = _matern(self._features([configuration]), self._x, length)
        return float(mean + (kernel @ weights)[0]), False

    @cached_property
    def _known(self) -> dict[Settings, float]:
        return dict(zip(self.configurations, self.costs.tolist(), strict=True))

    @cached_property
    def _x(self) -> NDArray[np.float64]:
        return self._features(self.configurations)

    def _features(self, configurations: Sequence[Settings]) -> NDArray[np.float64]:
        return np.asarray(self.space.features(self.space.encode(configurations)), np.float64)

    @cached_property
    def _fit(self) -> tuple[NDArray[np.float64], float, float] | None:
        n = len(self.configurations)
        if n < LEAST:
            return None
        mean = float(np.mean(self.costs))
        y = self.costs - mean
        best: tuple[float, NDArray[np.float64], float] | None = None
        for length in _LENGTHS:
            kernel = _matern(self._x, self._x, length)
            for ridge in _RIDGES:
                inverse = np.linalg.inv(kernel + ridge * np.eye(n))
                weights = inverse @ y
                error = float(np.mean((weights / np.diag(inverse)) ** 2))  # leave one out, in closed form
                if best is None or error < best[0]:
                    best = (error, weights, length)
        assert best is not None  # noqa: S101  the grids are not empty
        return best[1], best[2], mean


def _matern(a: NDArray[np.float64], b: NDArray[np.float64], length: float) -> NDArray[np.float64]:
    """Matern 5/2 covariances, shape (len(a), len(b))."""
    squared = np.maximum((a**2).sum(1)[:, None] + (b**2).sum(1)[None, :] - 2 * a @ b.T, 0.0)
    r = np.sqrt(5 * squared) / length
    covariances: NDArray[np.float64] = (1 + r + r**2 / 3) * np.exp(-r)
    return covariances
