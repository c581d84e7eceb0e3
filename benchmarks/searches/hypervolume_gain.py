"""Proposing by the expected gain in hypervolume, which the search does without: random weights did better."""

import numpy as np
from numpy.typing import NDArray

from recommender.search.belief.acquisition import log_expected_improvement
from recommender.search.engine.pareto import non_dominated


def worth(
    means: NDArray[np.float64],
    stds: NDArray[np.float64],
    costs: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """In place of the search's own worth of each candidate, for two objectives, shape (N,).

    The reference lies a tenth of the front's extent behind its worst values; behind the worst of all results, as
    it was in the search, both spaces came out worse.
    """
    del rng
    front = costs[non_dominated(costs)]
    low, high = front.min(axis=0), front.max(axis=0)
    reference = high + 0.1 * np.maximum(high - low, 0.05)
    return np.log(np.maximum(expected_hypervolume_improvement(means, stds, front, reference), 1e-300))


def expected_hypervolume_improvement(
    mean: NDArray[np.float64],
    std: NDArray[np.float64],
    front: NDArray[np.float64],
    reference: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Expected gain in hypervolume of two independent objectives, exact, for minimisation.

    The part below the front is cut into strips along the first objective; in each, the gain is a product
    of two improvements.

    Args:
        mean: Posterior means, shape (n, 2).
        std: Posterior standard deviations, shape (n, 2), positive.
        front: Non-dominated points, shape (f, 2).
        reference: A point worse than all that counts, shape (2,).

    Returns:
        Shape (n,).

    Source:
        Yang et al., Multi-Objective Bayesian Global Optimization using expected hypervolume improvement
        gradient, Swarm and Evolutionary Computation 44, 2019, section 4.
    """
    inside = front[(front < reference).all(axis=1)]
    inside = inside[np.argsort(inside[:, 0])]
    edges = np.append(inside[:, 0], reference[0])
    ceilings = np.concatenate([[reference[1]], inside[:, 1]])
    gain = np.zeros(len(mean))
    before = np.zeros(len(mean))
    for edge, ceiling in zip(edges.tolist(), ceilings.tolist(), strict=True):
        upto = np.exp(log_expected_improvement(mean[:, 0], std[:, 0], edge))
        height = np.exp(log_expected_improvement(mean[:, 1], std[:, 1], ceiling))
        gain += np.maximum(upto - before, 0.0) * height
        before = upto
    return gain


def hypervolume(points: NDArray[np.float64], reference: NDArray[np.float64]) -> float:
    """Volume between points and a reference that is worse than all that counts; exact.

    Slices along the last objective, which is O(n log n) in two dimensions and O(n^2 log n) in three.

    Args:
        points: Shape (n, m); those not better than the reference in everything count nothing.
        reference: Shape (m,).

    Source:
        Fonseca, Paquete and Lopez-Ibanez, An improved dimension-sweep algorithm for the hypervolume
        indicator, CEC 2006 (the plain sweep).
    """
    points = points[(points < reference).all(axis=1)]
    if not len(points):
        return 0.0
    if points.shape[1] == 1:
        return float(reference[0] - points.min())
    points = points[np.argsort(points[:, -1], kind="stable")]
    if points.shape[1] == 2:
        lowest = np.minimum.accumulate(points[:, 0])
        heights = np.diff(np.append(points[:, 1], reference[1]))
        return float(((reference[0] - lowest) * heights).sum())
    heights = np.diff(np.append(points[:, -1], reference[-1]))
    return float(
        sum(
            height * hypervolume(points[: k + 1, :-1], reference[:-1])
            for k, height in enumerate(heights.tolist())
            if height > 0
        )
    )
