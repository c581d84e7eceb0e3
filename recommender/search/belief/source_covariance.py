"""The uncertainty of what sources predict: their posterior covariance over the pool.

Where a source has no results near, its prediction falls back to its mean; without its doubt that would
pass for knowledge. The covariances of the sources, each weighted by the square of its share, add to the
prior of the process that believes them.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recommender.search.belief.source_model import SourceModel

_LEAST_SHARE = 0.05
"""Sources that count for less add no doubt; a choice: the square of it is lost beside any other."""


class Doubt:
    """The covariance of the sources' joint prediction.

    Args:
        sources: Of the search.
        shares: What each counts, shape (s,).
        features: Of the pool, shape (N, k).

    Attributes:
        variance: Of each row of the pool, shape (N,), log cost squared.
    """

    def __init__(
        self, sources: Sequence[SourceModel], shares: NDArray[np.float64], features: NDArray[np.float32]
    ) -> None:
        kept = [
            (source, float(share) ** 2)
            for source, share in zip(sources, shares, strict=True)
            if share >= _LEAST_SHARE
        ]
        self._sources = [source for source, _ in kept]
        self._weights = [weight for _, weight in kept]
        self._points = [source.scaled(features[:0]) for source in self._sources]
        self._whitened = [source.whitened(points) for source, points in self._pairs()]
        self.variance = np.zeros(0)
        self.append(features)

    def append(self, features: NDArray[np.float32]) -> None:
        """Make the pool larger."""
        more = np.zeros(len(features))
        for k, source in enumerate(self._sources):
            points = source.scaled(features)
            whitened = source.whitened(points)
            self._points[k] = np.concatenate([self._points[k], points])
            self._whitened[k] = np.concatenate([self._whitened[k], whitened], axis=1)
            left = source.variance - np.einsum("ij,ij->j", whitened, whitened)
            more += self._weights[k] * np.maximum(left, 0.0)
        self.variance = np.concatenate([self.variance, more])

    def between(self, rows: NDArray[np.int64], others: NDArray[np.int64] | slice) -> NDArray[np.float32]:
        """Covariances of pool rows, shape (len(rows), others)."""
        found = np.zeros((len(rows), len(self.variance[others])), np.float32)
        for k, (source, points) in enumerate(self._pairs()):
            known = self._whitened[k][:, rows].T @ self._whitened[k][:, others]
            left = source.covariance(points[rows], points[others]) - known
            found += np.float32(self._weights[k]) * left
        return found

    def _pairs(self) -> list[tuple[SourceModel, NDArray[np.float32]]]:
        return list(zip(self._sources, self._points, strict=True))
