"""The kernel of a Gaussian process over parameters: Matern-5/2 with one length scale a parameter.

Source: Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, ch. 4.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Real = TypeVar("Real", np.float32, np.float64)

_ROOT5 = math.sqrt(5.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyperparameters:
    """The kernel.

    Attributes:
        scales: Length scales, shape (g,), in units of the unit cube.
        amplitude: Standard deviation of the process, log cost.
        noise: Standard deviation of one measurement, log cost.
    """

    scales: NDArray[np.float64]
    amplitude: float
    noise: float

    def packed(self) -> NDArray[np.float64]:
        """Logarithms in one vector, shape (g + 2,)."""
        return np.asarray(np.log(np.concatenate([self.scales, [self.amplitude, self.noise]])))

    @classmethod
    def unpacked(cls, theta: NDArray[np.float64]) -> Hyperparameters:
        """Restore what ``packed`` made."""
        values = np.exp(theta)
        return cls(scales=values[:-2], amplitude=float(values[-2]), noise=float(values[-1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelPrior:
    """Prior of the kernel's hyperparameters: independent normals of the logarithms.

    Attributes:
        mean: Shape (g + 2,), order of ``Hyperparameters.packed``.
        stdev: Shape (g + 2,).
    """

    mean: NDArray[np.float64]
    stdev: NDArray[np.float64]

    @classmethod
    def usual(cls, groups: int, spread: float) -> KernelPrior:
        """A prior for g parameters and log costs of a given spread.

        Length scales grow with the square root of the dimension, so that the prior's complexity does not
        (Hvarfner et al., Vanilla Bayesian Optimization Performs Great in High Dimensions, ICML 2024; their
        location less one, half of their spread). Amplitude about the spread, noise about 2 % of it: choices.
        """
        scale = math.sqrt(2.0) + 0.5 * math.log(groups)
        location = [*[scale - 1.0] * groups, math.log(spread), math.log(0.02 * spread)]
        width = [*[math.sqrt(3.0) / 2] * groups, 0.7, 1.0]
        return cls(mean=np.array(location), stdev=np.array(width))


def matern(a: NDArray[Real], b: NDArray[Real], amplitude: float) -> NDArray[Real]:
    """Matern-5/2 covariances of points already divided by their length scales.

    Args:
        a: Shape (n, k).
        b: Shape (m, k).
        amplitude: Standard deviation of the process.

    Returns:
        Shape (n, m).
    """
    squared = np.asarray((a * a).sum(1)[:, None] + (b * b).sum(1)[None, :] - 2 * (a @ b.T), a.dtype)
    np.maximum(squared, 0, out=squared)
    r = np.sqrt(squared)
    r *= _ROOT5
    squared *= 5.0 / 3.0
    squared += r
    squared += 1.0
    np.negative(r, out=r)
    np.exp(r, out=r)
    squared *= r
    squared *= amplitude * amplitude
    return squared
