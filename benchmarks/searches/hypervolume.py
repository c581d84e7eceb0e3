"""Hypervolume of a front: the volume between its points and a reference."""

import numpy as np
from numpy.typing import NDArray


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
