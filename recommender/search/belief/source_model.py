"""The model of one similar problem: a Gaussian process over the parameters that it shares with the target."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recommender.search.belief.kernel import matern
from recommender.space.constraint import Coordinates


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceModel:
    """The Gaussian process of one source, and its rows on the target's space.

    Attributes:
        name: Of the source.
        similarity: As given, 0 to 1.
        points: Its rows on the target's space, shape (n, d); nan where it lacks a parameter.
        exact: Which rows are points of the space as they stand, shape (n,).
        costs: Log costs, shape (n,); inf for failures.
        shared: Columns of ``features`` that the source has values of, shape (k,), bool.
    """

    name: str
    similarity: float
    points: Coordinates
    exact: NDArray[np.bool_]
    costs: NDArray[np.float64]
    shared: NDArray[np.bool_]
    _observed: NDArray[np.float32]
    _scales: NDArray[np.float32]
    _amplitude: float
    _offset: float
    _alpha: NDArray[np.float32]
    _half: NDArray[np.float32]
    _centre: float

    def predict(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Log cost relative to the source's median, shape (N,).

        Args:
            features: Of candidates of the target's space, shape (N, k).
        """
        if not len(self._alpha) or not len(features):
            return np.zeros(len(features))
        scaled = self.scaled(features)
        predicted = np.concatenate(
            [
                matern(scaled[start : start + 4096], self._observed, self._amplitude) @ self._alpha
                for start in range(0, len(scaled), 4096)
            ]
        )
        return predicted.astype(float) + self._centre

    def scaled(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """The shared features divided by the length scales, shape (N, shared)."""
        return np.asarray(features[:, self.shared] / self._scales)

    def covariance(self, a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
        """Prior covariance of scaled points, shape (len(a), len(b))."""
        return matern(a, b, self._amplitude) + np.float32(self._offset**2)

    @property
    def variance(self) -> float:
        """Prior variance of its log costs."""
        return self._amplitude**2 + self._offset**2

    def whitened(self, scaled: NDArray[np.float32]) -> NDArray[np.float32]:
        """``V``, shape (results, N): its results reduce ``covariance`` by ``V.T @ V``."""
        return np.asarray(self._half @ self.covariance(self._observed, scaled))

    def best(self) -> list[int]:
        """Its rows that are points of the space and ran, best first."""
        order = np.argsort(self.costs, kind="stable")
        return [int(i) for i in order if self.exact[i] and math.isfinite(self.costs[i])]
