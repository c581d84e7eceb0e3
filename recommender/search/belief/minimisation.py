"""Minimisation of a smooth function of a few variables.

By hand, as questions import no scipy; a test holds it against scipy's L-BFGS-B.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def minimise(
    function: Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]],
    start: NDArray[np.float64],
    steps: int,
    memory: int = 6,
) -> NDArray[np.float64]:
    """A minimum near ``start`` by limited-memory BFGS with backtracking.

    Args:
        function: Value and gradient.
        start: Shape (p,).
        steps: Iterations at most.
        memory: Pairs remembered.

    Source:
        Nocedal and Wright, Numerical Optimization, 2006, algorithm 7.4.
    """
    x = start.astype(float).copy()
    value, gradient = function(x)
    pairs: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    for _ in range(steps):
        direction = -_two_loops(gradient, pairs)
        longest = np.abs(direction).max()
        if not np.isfinite(longest) or longest < 1e-4:
            break
        if not pairs or longest > 1.0:
            direction /= max(longest, 1e-12)  # at most a factor e a step
        slope = gradient @ direction
        if slope >= 0:
            direction, slope, pairs = -gradient / np.abs(gradient).max(), -np.abs(gradient).sum(), []
        length = 1.0
        for _ in range(8):
            after, steeper = function(x + length * direction)
            if after <= value + 1e-4 * length * slope:
                break
            length *= 0.4
        else:
            break
        moved, turned = length * direction, steeper - gradient
        if moved @ turned > 1e-10:
            pairs = [*pairs[-memory + 1 :], (moved, turned)]
        done = value - after < 1e-3
        x, value, gradient = x + moved, after, steeper
        if done:
            break
    return x


def _two_loops(
    gradient: NDArray[np.float64], pairs: list[tuple[NDArray[np.float64], NDArray[np.float64]]]
) -> NDArray[np.float64]:
    q = gradient.copy()
    shares = []
    for moved, turned in reversed(pairs):
        share = (moved @ q) / (moved @ turned)
        q -= share * turned
        shares.append(share)
    if pairs:
        moved, turned = pairs[-1]
        q *= (moved @ turned) / (turned @ turned)
    for (moved, turned), share in zip(pairs, reversed(shares), strict=True):
        q += (share - (turned @ q) / (moved @ turned)) * moved
    return q
