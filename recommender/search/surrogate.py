"""A Gaussian process over a fixed pool of candidates, conditioned one result at a time.

``F``: features of the candidates, shape (N, k), single precision; column ``j`` belongs to length scale
``groups[j]`` of g. ``B``: basis, shape (N, m), with the prior N(w, W) of its coefficients: the constant,
and what sources predict. ``rows``: pool rows observed, shape (n,), repeats allowed; ``y``: their log costs.

The prior is ``y(x) = B(x) c + r(x) + noise`` with ``c ~ N(w, W)`` and ``r`` a Matern-5/2 process with one
length scale a parameter. Coefficients are integrated out, so nothing but the kernel is fitted. For the
pool, ``V = L^-1 k(rows, pool)`` is kept: one more result costs O(n N), not a new factorisation.

Source: Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, ch. 2 and 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Real = TypeVar("Real", np.float32, np.float64)

_ROOT5 = math.sqrt(5.0)
_SINGLE = 1e-6
"""Share of the variance that the basis adds which is lost to rounding in single precision: where a process
hardly varies beside its basis, results taken in one by one would else blow its rounding errors up."""
_JITTER = 1e-5
"""Added to the diagonal, in units of the amplitude's square; single precision needs it."""


_CHUNK = 4096
"""Points looked at at once; a choice that keeps the covariances in the cache."""

_STATE = ("rows", "y", "mean", "variance", "_noise", "_factor", "_whitened", "_residual")


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
        """From ``packed``."""
        values = np.exp(theta)
        return cls(scales=values[:-2], amplitude=float(values[-2]), noise=float(values[-1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelPrior:
    """What is believed of the kernel before results; independent normals of the logarithms.

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
        location and spread). Amplitude about the spread, noise about 2 % of it; both choices.
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


class PoolProcess:
    """The process of one search.

    Args:
        features: ``F``.
        groups: Length scale of each column of ``F``, shape (k,).
        basis: ``B``.
        weights: ``w``, shape (m,).
        covariance: ``W``, shape (m, m).
        prior: Of the kernel.

    Attributes:
        kernel: The kernel in use.
        mean: Posterior mean of the noiseless log cost, shape (N,).
        variance: Posterior variance of it, shape (N,).
    """

    def __init__(
        self,
        *,
        features: NDArray[np.float32],
        groups: NDArray[np.int64],
        basis: NDArray[np.float64],
        weights: NDArray[np.float64],
        covariance: NDArray[np.float64],
        prior: KernelPrior,
    ) -> None:
        self._features, self._groups, self._prior = features, groups, prior
        self._basis, self._weights, self._covariance = basis, weights, covariance
        self.kernel = Hyperparameters.unpacked(prior.mean)
        self.rows = np.zeros(0, np.int64)
        self.y = np.zeros(0)
        self._noise = np.zeros(0)
        self._shared = self._basis_variance()
        self._start()

    def fit(
        self,
        rows: NDArray[np.int64],
        y: NDArray[np.float64],
        noise: NDArray[np.float64] | None = None,
        steps: int = 15,
    ) -> None:
        """Choose the kernel by MAP on results and condition on them.

        Args:
            rows: Shape (n,).
            y: Log costs, shape (n,).
            noise: Factor on the noise variance of each, shape (n,); 1 where nothing is known.
            steps: Iterations of the optimiser; it starts from the kernel in use.
        """
        noise = np.ones(len(rows)) if noise is None else noise
        if len(rows):
            evidence = self._evidence(rows, y, noise)
            self.kernel = Hyperparameters.unpacked(minimise(evidence, self.kernel.packed(), steps))
        self.condition(rows, y, noise)

    def loss(self, rows: NDArray[np.int64], y: NDArray[np.float64]) -> float:
        """Negative log evidence and prior of results under the kernel in use; nothing is changed."""
        return self._evidence(rows, y, np.ones(len(rows)))(self.kernel.packed())[0]

    def condition(
        self, rows: NDArray[np.int64], y: NDArray[np.float64], noise: NDArray[np.float64] | None = None
    ) -> None:
        """Forget everything but the kernel, then take in results."""
        noise = np.ones(len(rows)) if noise is None else noise
        self.rows, self.y, self._noise = rows.copy(), y.astype(float), noise
        if not len(rows):
            self._start()
            return
        scaled = self._scaled()
        observed = scaled[rows]
        exact = observed.astype(np.float64)
        inner: NDArray[np.float64] = self._covariances(exact, exact, rows, rows)
        inner[np.diag_indices(len(rows))] += noise * self.kernel.noise**2 + self._jitter
        self._factor = np.linalg.cholesky(inner)
        cross = self._covariances(observed, scaled, rows, None)
        inverse = np.linalg.inv(self._factor)
        self._whitened = inverse.astype(np.float32) @ cross
        prior_mean = self._basis @ self._weights
        self._residual = inverse @ (self.y - prior_mean[rows])
        self.mean = prior_mean + self._residual.astype(np.float32) @ self._whitened
        self.variance = np.maximum(
            self._prior_variance() - np.einsum("ij,ij->j", self._whitened, self._whitened), self._jitter
        )

    def add(self, row: int, y: float, noise: float = 1.0) -> None:
        """Take in one more result under the kernel in use."""
        scaled = self._scaled()
        at = np.array([row])
        n = len(self.rows)
        cross = self._covariances(scaled[at], scaled, at, None)[0]
        before = self._whitened[:, row].astype(float)
        left = cross[row] + noise * self.kernel.noise**2 + self._jitter - before @ before
        pivot = math.sqrt(max(float(left), self._jitter))
        new = (cross - before.astype(np.float32) @ self._whitened) / np.float32(pivot)
        factor = np.zeros((n + 1, n + 1))
        factor[:n, :n], factor[n, :n], factor[n, n] = self._factor, before, pivot
        residual = (y - self._basis[row] @ self._weights - before @ self._residual) / pivot
        self._factor = factor
        self._whitened = np.concatenate([self._whitened, new[None]])
        self._residual = np.append(self._residual, residual)
        self.rows, self.y = np.append(self.rows, row), np.append(self.y, y)
        self._noise = np.append(self._noise, noise)
        self.mean = self.mean + residual * new
        self.variance = np.maximum(self.variance - new.astype(float) ** 2, self._jitter)

    def append(self, features: NDArray[np.float32], basis: NDArray[np.float64]) -> None:
        """Make the pool larger; results stay.

        Args:
            features: Shape (e, k).
            basis: Shape (e, m).
        """
        mean, variance, whitened = self._look(features, basis)
        self._features = np.concatenate([self._features, features])
        self._basis = np.concatenate([self._basis, basis])
        self._whitened = np.concatenate([self._whitened, whitened], axis=1)
        self.mean = np.concatenate([self.mean, mean])
        self.variance = np.concatenate([self.variance, variance])

    def look(
        self, features: NDArray[np.float32], basis: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean and variance of points outside the pool, shape (e,) each."""
        parts = [
            self._look(features[start : start + _CHUNK], basis[start : start + _CHUNK])[:2]
            for start in range(0, len(features), _CHUNK)
        ]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _look(
        self, features: NDArray[np.float32], basis: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float32]]:
        scales = self.kernel.scales[self._groups].astype(np.float32)
        cross = matern(self._features[self.rows] / scales, features / scales, self.kernel.amplitude)
        shared = (self._basis[self.rows] @ self._covariance) @ basis.T
        half = np.linalg.inv(self._factor).astype(np.float32)
        whitened = half @ (cross + shared.astype(np.float32))
        mean = basis @ self._weights + self._residual.astype(np.float32) @ whitened
        prior = np.einsum("ij,jk,ik->i", basis, self._covariance, basis) + self.kernel.amplitude**2
        variance = np.maximum(prior - np.einsum("ij,ij->j", whitened, whitened), self._jitter)
        return mean, np.asarray(variance), whitened

    def state(self) -> tuple[object, ...]:
        """What ``add`` changes; nothing is copied, since nothing is changed in place."""
        return tuple(getattr(self, name) for name in _STATE)

    def go_back(self, state: tuple[object, ...]) -> None:
        """Undo what was added since ``state``."""
        for name, value in zip(_STATE, state, strict=True):
            setattr(self, name, value)

    def expect(
        self, prior: KernelPrior, weights: NDArray[np.float64], covariance: NDArray[np.float64]
    ) -> None:
        """Change what is believed before results; takes effect at the next ``fit`` or ``condition``."""
        self._prior, self._weights, self._covariance = prior, weights, covariance
        self._shared = self._basis_variance()

    def joint(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Posterior covariance between pool rows, shape (len(rows), len(rows))."""
        scaled = self._scaled()[rows]
        prior = self._covariances(scaled, scaled, rows, rows).astype(float)
        part = self._whitened[:, rows].astype(float)
        return np.asarray(prior - part.T @ part)

    def dual(self) -> NDArray[np.float64]:
        """Weights of the kernel at the results in the posterior mean, shape (n,)."""
        return np.asarray(np.linalg.solve(self._factor.T, self._residual))

    def coefficients(self) -> NDArray[np.float64]:
        """Posterior mean of the coefficients of the basis, shape (m,)."""
        if not len(self.rows):
            return self._weights
        shared = self._covariance @ self._basis[self.rows].T
        return np.asarray(self._weights + shared @ self.dual())

    # --- below

    @property
    def _jitter(self) -> float:
        return _JITTER * self.kernel.amplitude**2 + _SINGLE * self._shared + 1e-10

    def _basis_variance(self) -> float:
        """Largest variance that the basis alone gives a row of the pool."""
        spread = np.einsum("ij,jk,ik->i", self._basis, self._covariance, self._basis)
        return float(spread.max(initial=0.0))

    def _start(self) -> None:
        self._factor = np.zeros((0, 0))
        self._residual = np.zeros(0)
        self._whitened = np.zeros((0, len(self._features)), np.float32)
        self.mean = self._basis @ self._weights
        self.variance = self._prior_variance()

    def _scaled(self) -> NDArray[np.float32]:
        scales = self.kernel.scales[self._groups].astype(np.float32)
        return np.asarray(self._features / scales)

    def _prior_variance(self) -> NDArray[np.float64]:
        spread = np.einsum("ij,jk,ik->i", self._basis, self._covariance, self._basis)
        return np.asarray(spread + self.kernel.amplitude**2)

    def _covariances(
        self,
        a: NDArray[Real],
        b: NDArray[Real],
        rows: NDArray[np.int64],
        others: NDArray[np.int64] | None,
    ) -> NDArray[Real]:
        found = matern(a, b, self.kernel.amplitude)
        right = self._basis if others is None else self._basis[others]
        shared = np.asarray((self._basis[rows] @ self._covariance) @ right.T)
        return np.asarray(found + shared.astype(found.dtype))

    def _evidence(
        self, rows: NDArray[np.int64], y: NDArray[np.float64], noise: NDArray[np.float64]
    ) -> Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]:
        """Negative log evidence with prior, and its gradient, as a function of ``packed``."""
        points = self._features[rows].astype(float)
        count = len(self._prior.mean) - 2
        apart = np.zeros((count, len(rows), len(rows)))
        for column, group in enumerate(self._groups):
            apart[group] += (points[:, None, column] - points[None, :, column]) ** 2
        basis = self._basis[rows]
        fixed = basis @ self._covariance @ basis.T
        centred = y - basis @ self._weights
        flat = apart.reshape(count, -1)

        def evidence(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            over = np.exp(-2.0 * theta[:-2])
            amplitude2, noise2 = math.exp(2.0 * theta[-2]), math.exp(2.0 * theta[-1])
            squared = (over @ flat).reshape(len(rows), len(rows))
            r = np.sqrt(5.0 * squared)
            decay = np.exp(-r)
            kernel = amplitude2 * (1.0 + r + 5.0 / 3.0 * squared) * decay
            inner = kernel + fixed
            inner[np.diag_indices(len(rows))] += noise2 * noise + _JITTER * amplitude2 + 1e-10
            try:
                factor = np.linalg.cholesky(inner)
            except np.linalg.LinAlgError:
                return math.inf, np.zeros_like(theta)
            half = np.linalg.inv(factor)
            inverse = half.T @ half
            alpha = inverse @ centred
            away = (theta - self._prior.mean) / self._prior.stdev
            value = 0.5 * centred @ alpha + np.log(np.diag(factor)).sum() + 0.5 * away @ away
            slope = inverse - np.outer(alpha, alpha)
            gradient = np.empty_like(theta)
            common = slope * (amplitude2 * 5.0 / 3.0 * (1.0 + r) * decay)
            gradient[:-2] = 0.5 * over * (flat @ common.ravel())
            gradient[-2] = float((slope * kernel).sum() + _JITTER * amplitude2 * np.trace(slope))
            gradient[-1] = float(noise2 * (np.diag(slope) * noise).sum())
            return float(value), gradient + away / self._prior.stdev

        return evidence


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
