"""A Gaussian process over a fixed pool of candidates, conditioned one result at a time.

``F``: features of the candidates, shape (N, k), single precision; column ``j`` belongs to length scale
``groups[j]`` of g. ``B``: basis, shape (N, m), with the prior N(w, W) of its coefficients: the constant,
and what sources predict. ``rows``: pool rows observed, shape (n,), repeats allowed; ``y``: their log costs.

The prior is ``y(x) = B(x) c + d(x) + r(x) + noise`` with ``c ~ N(w, W)``, ``d`` what the basis leaves unsure
(``recommender.search.belief.source_covariance``) and ``r`` a Matern-5/2 process with one length scale a
parameter. Coefficients are integrated out, so nothing but the kernel is fitted. For the pool,
``V = L^-1 k(rows, pool)`` is kept: one more result costs O(n N), not a new factorisation.

Source: Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, ch. 2 and 5.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from recommender.search.belief.kernel import Hyperparameters, KernelPrior, Real, matern
from recommender.search.belief.minimisation import minimise
from recommender.search.belief.source_covariance import Doubt

_SINGLE = 1e-6
"""Share of the variance that the basis adds which is lost to rounding in single precision: where a process
hardly varies beside its basis, results taken in one by one would else blow its rounding errors up."""

_JITTER = 1e-5
"""Added to the diagonal, in units of the amplitude's square; single precision needs it."""

_CLEAR = 4.0
"""Variance left of a result, in units of what is added to the diagonal, under which all is reckoned anew:
rounding errors of a result that the others nearly determine would else grow with each one more; a choice."""

_CHUNK = 4096
"""Points looked at at once; a choice that keeps the covariances in the cache."""

_STATE = ("rows", "y", "mean", "variance", "_noise", "_factor", "_whitened", "_residual")


class PoolProcess:
    """The process of one search.

    Args:
        features: ``F``.
        groups: Length scale of each column of ``F``, shape (k,).
        basis: ``B``.
        weights: ``w``, shape (m,).
        covariance: ``W``, shape (m, m).
        prior: Of the kernel.
        doubt: What the basis leaves unsure, for all rows of the pool; None where nothing.

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
        doubt: Doubt | None = None,
    ) -> None:
        self._doubt = doubt
        self._features, self._groups, self._prior = features, groups, prior
        self._basis, self._weights, self._covariance = basis, weights, covariance
        self.kernel = Hyperparameters.unpacked(prior.mean)
        self._kept: NDArray[np.float32] = np.zeros((0, len(features)), np.float32)
        self._whitened: NDArray[np.float32] = self._kept
        self._scaled_by: Hyperparameters | None = None
        self._shared = self._basis_variance()
        self.forget()

    def choose(
        self,
        rows: NDArray[np.int64],
        y: NDArray[np.float64],
        noise: NDArray[np.float64] | None = None,
        steps: int = 15,
    ) -> float:
        """Choose the kernel by MAP on results, which are not taken in: ``condition`` or ``forget`` is next.

        Args:
            rows: Shape (n,), n at least 1.
            y: Log costs, shape (n,).
            noise: Factor on the noise variance of each, shape (n,); 1 where nothing is known.
            steps: Iterations of the optimiser; it starts from the kernel in use.

        Returns:
            Negative log evidence and prior of the results under the kernel chosen.
        """
        evidence = self._evidence(rows, y, np.ones(len(rows)) if noise is None else noise)
        theta = minimise(evidence, self.kernel.packed(), steps)
        self.kernel = Hyperparameters.unpacked(theta)
        return evidence(theta)[0]

    def forget(self) -> None:
        """Drop all results; the kernel stays."""
        self.rows, self.y, self._noise = np.zeros(0, np.int64), np.zeros(0), np.zeros(0)
        self._start()

    def condition(
        self, rows: NDArray[np.int64], y: NDArray[np.float64], noise: NDArray[np.float64] | None = None
    ) -> None:
        """Forget everything but the kernel, then take in results."""
        noise = np.ones(len(rows)) if noise is None else noise
        if not len(rows):
            self.forget()
            return
        self.rows, self.y, self._noise = rows.copy(), y.astype(float), noise
        scaled = self._scaled()
        observed = scaled[rows]
        exact = observed.astype(np.float64)
        inner: NDArray[np.float64] = self._covariances(exact, exact, rows, rows)
        inner[np.diag_indices(len(rows))] += noise * self.kernel.noise**2 + self._jitter
        self._factor = np.linalg.cholesky(inner)
        cross = self._covariances(observed, scaled, rows, None)
        inverse = np.linalg.inv(self._factor)
        self._keep(len(rows))
        np.matmul(inverse.astype(np.float32), cross, out=self._whitened)
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
        single = self._whitened[:, row].copy()
        before = single.astype(float)
        left = float(cross[row] + noise * self.kernel.noise**2 + self._jitter - before @ before)
        if not left > _CLEAR * self._jitter:
            everything = np.append(self._noise, noise)
            self.condition(np.append(self.rows, row), np.append(self.y, y), everything)
            return
        pivot = math.sqrt(left)
        new = (cross - single @ self._whitened) / np.float32(pivot)
        factor = np.zeros((n + 1, n + 1))
        factor[:n, :n], factor[n, :n], factor[n, n] = self._factor, before, pivot
        residual = (y - self._basis[row] @ self._weights - before @ self._residual) / pivot
        self._factor = factor
        self._keep(n + 1)
        self._whitened[n] = new
        self._residual = np.append(self._residual, residual)
        self.rows, self.y = np.append(self.rows, row), np.append(self.y, y)
        self._noise = np.append(self._noise, noise)
        self.mean = self.mean + residual * new
        self.variance = np.maximum(self.variance - new * new, self._jitter)

    def append(self, features: NDArray[np.float32], basis: NDArray[np.float64]) -> None:
        """Make the pool larger; results stay. ``doubt`` already knows the new rows.

        Args:
            features: Shape (e, k).
            basis: Shape (e, m).
        """
        first = len(self._features)
        mean, variance, whitened = self._look(features, basis, slice(first, first + len(features)))
        self._features = np.concatenate([self._features, features])
        self._basis = np.concatenate([self._basis, basis])
        self._scaled_by = None
        self._kept = self._whitened = np.concatenate([self._whitened, whitened], axis=1)
        self.mean = np.concatenate([self.mean, mean])
        self.variance = np.concatenate([self.variance, variance])

    def look(
        self, features: NDArray[np.float32], basis: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean and variance of points outside the pool, shape (e,) each; doubt is left out."""
        parts = [
            self._look(features[start : start + _CHUNK], basis[start : start + _CHUNK])[:2]
            for start in range(0, len(features), _CHUNK)
        ]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _look(
        self, features: NDArray[np.float32], basis: NDArray[np.float64], new: slice | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float32]]:
        """Mean, variance and ``V`` of points; ``new``: which rows of the doubt they are."""
        scales = self.kernel.scales[self._groups].astype(np.float32)
        cross = matern(self._features[self.rows] / scales, features / scales, self.kernel.amplitude)
        shared = (self._basis[self.rows] @ self._covariance) @ basis.T
        prior = np.einsum("ij,jk,ik->i", basis, self._covariance, basis) + self.kernel.amplitude**2
        if self._doubt is not None and new is not None:
            shared = shared + self._doubt.between(self.rows, new)
            prior = prior + self._doubt.variance[new]
        whitened = self.half().astype(np.float32) @ (cross + shared.astype(np.float32))
        mean = basis @ self._weights + self._residual.astype(np.float32) @ whitened
        variance = np.maximum(prior - np.einsum("ij,ij->j", whitened, whitened), self._jitter)
        return mean, np.asarray(variance), whitened

    def state(self) -> tuple[object, ...]:
        """The arrays that ``add`` replaces; nothing is copied, since none of them is changed in place."""
        return tuple(getattr(self, name) for name in _STATE)

    def go_back(self, state: tuple[object, ...]) -> None:
        """Undo what was added since ``state``."""
        for name, value in zip(_STATE, state, strict=True):
            setattr(self, name, value)
        if len(self.mean) < len(self._features):  # the pool has grown since
            self.condition(self.rows, self.y, self._noise)

    def expect(
        self, prior: KernelPrior, weights: NDArray[np.float64], covariance: NDArray[np.float64]
    ) -> None:
        """Change what is believed before results; takes effect at the next ``choose`` or ``condition``."""
        self._prior, self._weights, self._covariance = prior, weights, covariance
        self._shared = self._basis_variance()

    def dual(self) -> NDArray[np.float64]:
        """Weights of the kernel at the results in the posterior mean, shape (n,)."""
        return np.asarray(np.linalg.solve(self._factor.T, self._residual))

    def half(self) -> NDArray[np.float64]:
        """Inverse of the Cholesky factor of the results' covariance, shape (n, n)."""
        return np.asarray(np.linalg.inv(self._factor))

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
        self._whitened = self._kept[:0]
        self.mean = self._basis @ self._weights
        self.variance = self._prior_variance()

    def _scaled(self) -> NDArray[np.float32]:
        """Features divided by their length scales, shape (N, k)."""
        if self._scaled_by is not self.kernel:
            self._points: NDArray[np.float32] = np.asarray(
                self._features / self.kernel.scales[self._groups], np.float32
            )
            self._scaled_by = self.kernel
        return self._points

    def _keep(self, n: int) -> None:
        """Make ``_whitened`` n rows of a larger array: the rows before stay, a row more copies nothing."""
        if len(self._kept) < n:
            larger = np.empty((max(2 * n, 16), len(self._features)), np.float32)
            larger[: len(self._whitened)] = self._whitened
            self._kept = larger
        self._whitened = self._kept[:n]

    def _prior_variance(self) -> NDArray[np.float64]:
        spread = np.einsum("ij,jk,ik->i", self._basis, self._covariance, self._basis)
        if self._doubt is not None:
            spread = spread + self._doubt.variance[: len(spread)]
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
        if self._doubt is not None:
            shared = shared + self._doubt.between(rows, slice(None) if others is None else others)
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
        if self._doubt is not None:
            fixed = fixed + self._doubt.between(rows, rows)
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
