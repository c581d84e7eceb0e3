"""The feasibility model: the chance that a configuration runs, from those that ran and those that failed.

A Gaussian-kernel vote over the features: each result speaks for its neighbourhood, a source's result for
less, since what one device cannot run another can. Where nothing was seen the prior share of successes
answers. It is not a rule: nothing is ever ruled out by it, only made less attractive.
"""

import numpy as np
from numpy.typing import NDArray

_WIDTH = 0.35
"""Width of the kernel, in units of a parameter's range times the square root of their number; a choice."""

_PRIOR = 0.5
"""Results that the prior share of successes counts for; a choice."""


class FeasibilityModel:
    """The chance of each candidate of one search to run.

    Args:
        features: Candidates, shape (N, k).
    """

    def __init__(self, features: NDArray[np.float32]) -> None:
        self._features = features
        spread = np.maximum(features.max(axis=0) - features.min(axis=0), 1e-6)
        self._scale = spread * (_WIDTH * max(features.shape[1], 1) ** 0.5 * 0.5)
        self._ran = np.zeros(len(features))
        self._failed = np.zeros(len(features))
        self._counts = [1.0, 0.0]
        self._counted = 0
        self._results: list[tuple[NDArray[np.float32], NDArray[np.bool_], float]] = []

    def add(self, features: NDArray[np.float32], failed: NDArray[np.bool_], weight: float = 1.0) -> None:
        """Take in results.

        Args:
            features: Of the configurations, shape (n, k).
            failed: Shape (n,).
            weight: What each counts; below 1 for another problem's.
        """
        self._results.append((features, failed, weight))
        self._counts[0] += weight * float((~failed).sum())
        self._counts[1] += weight * float(failed.sum())

    def _catch_up(self) -> None:
        """Count the votes not yet counted; none matters before the first failure."""
        for result in self._results[self._counted :]:
            good, bad = self._votes(self._features, *result)
            self._ran += good
            self._failed += bad
        self._counted = len(self._results)

    def append(self, features: NDArray[np.float32]) -> None:
        """Make the pool larger."""
        votes = [self._votes(features, *result) for result in self._results[: self._counted]]
        self._features = np.concatenate([self._features, features])
        self._ran = np.concatenate(
            [self._ran, np.sum([v[0] for v in votes] or np.zeros((1, len(features))), 0)]
        )
        self._failed = np.concatenate(
            [self._failed, np.sum([v[1] for v in votes] or np.zeros((1, len(features))), 0)]
        )

    def _votes(
        self, pool: NDArray[np.float32], seen: NDArray[np.float32], failed: NDArray[np.bool_], weight: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Votes for running and for failing of each candidate, shape (n,) each."""
        good, bad = np.zeros(len(pool)), np.zeros(len(pool))
        a = pool / self._scale
        for start in range(0, len(seen), 64):
            b, wrong = seen[start : start + 64] / self._scale, failed[start : start + 64]
            away = (a * a).sum(1)[:, None] + (b * b).sum(1)[None] - 2.0 * (a @ b.T)
            near = weight * np.exp(-0.5 * np.maximum(away, 0.0))
            bad += near[:, wrong].sum(axis=1)
            good += near[:, ~wrong].sum(axis=1)
        return good, bad

    @property
    def probability(self) -> NDArray[np.float64]:
        """The probability that each candidate runs, shape (N,); all ones while nothing failed."""
        ran, failed = self._counts
        if not failed:
            return np.ones(len(self._features))
        self._catch_up()
        share = ran / (ran + failed)
        return np.asarray((self._ran + _PRIOR * share) / (self._ran + self._failed + _PRIOR))
