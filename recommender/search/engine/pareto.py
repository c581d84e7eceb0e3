"""Pareto fronts; all objectives are minimised.

``points``: costs, shape (n, m), one row a configuration; finite.
"""

import numpy as np
from numpy.typing import NDArray


def non_dominated(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask of the Pareto front: no other point is as good in everything and better in something.

    Args:
        points: Shape (n, m).

    Returns:
        Shape (n,); equal points are all kept.
    """
    if points.ndim == 2 and points.shape[1] == 2:
        return _non_dominated_pairs(points)
    kept = np.ones(len(points), bool)
    for i, point in enumerate(points):
        if kept[i]:
            worse = (points >= point).all(axis=1) & (points > point).any(axis=1)
            kept &= ~worse
    return kept


def _non_dominated_pairs(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The same of two objectives by one sweep, O(n log n)."""
    order = np.lexsort((points[:, 1], points[:, 0]))
    first, second = points[order, 0], points[order, 1]
    starts = np.flatnonzero(np.diff(first, prepend=-np.inf) > 0)  # of each value of the first objective
    group = np.cumsum(np.diff(first, prepend=-np.inf) > 0) - 1
    least = second[starts]  # the least of its group, as the second objective is sorted within
    before = np.concatenate([[np.inf], np.minimum.accumulate(least)[:-1]]) if len(least) else least
    kept = np.zeros(len(points), bool)
    kept[order] = (second == least[group]) & (second < before[group])
    return kept


def augmented_chebyshev(
    points: NDArray[np.float64], weights: NDArray[np.float64], share: float = 0.05
) -> NDArray[np.float64]:
    """One cost of several: ``max(w f) + share * sum(w f)``; its minima are Pareto optimal.

    Args:
        points: Costs scaled to about 0 to 1, shape (n, m).
        weights: Non-negative, shape (m,).
        share: Of the sum; 0.05 as in the source.

    Returns:
        Shape (n,).

    Source:
        Knowles, ParEGO, IEEE Transactions on Evolutionary Computation 10(1), 2006.
    """
    weighted = points * weights
    return np.asarray(weighted.max(axis=1) + share * weighted.sum(axis=1))
