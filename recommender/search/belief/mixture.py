"""A mixture of Gaussian processes about one objective, weighted by how well each predicts the results.

Every expert is a Gaussian process (``recommender.search.belief.surrogate``). Those that trust the sources
have the sources' predictions in their basis, with coefficients that are learned: one believes them as far as
they are similar, one takes them to matter without knowing the sign. Another knows no source. Weights are
the experts' evidence, so wrong sources lose their say after a few results; results where the sources alone
chose say little about them, so the one that knows none is asked now and then
(``improvement_without_sources``). That is the guard against negative transfer. Expected improvement is
averaged over the experts.

Source: Feurer et al., Scalable Meta-Learning for Bayesian Optimization (ranking-weighted ensembles), 2018,
for weighting by the target's own results; Bayesian model averaging instead of rankings is ours.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recommender.search.belief.kernel import KernelPrior
from recommender.search.belief.source_covariance import Doubt
from recommender.search.belief.surrogate import PoolProcess
from recommender.search.belief.transfer import unwarp, warp

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)

# Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26 with its absolute error of 1.5e-7.
_P = 0.3275911
_A = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


_TAIL, _DEPTH = 2.0, 16
"""Deviations below which the continued fraction is taken, and its terms: 1e-5 relative there."""


def normal_cdf(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard normal distribution function, absolute error below 1e-7."""
    x = np.abs(z) / math.sqrt(2.0)
    t = 1.0 / (1.0 + _P * x)
    tail = t * (_A[0] + t * (_A[1] + t * (_A[2] + t * (_A[3] + t * _A[4])))) * np.exp(-x * x)
    return np.asarray(np.where(z > 0, 1.0 - 0.5 * tail, 0.5 * tail))


def log_expected_improvement(
    mean: NDArray[np.float64], std: NDArray[np.float64], best: float
) -> NDArray[np.float64]:
    """Logarithm of expected improvement under a normal posterior, for minimisation.

    ``log E[max(best - f, 0)]`` with ``f ~ N(mean, std**2)``. In the tail the continued fraction of Mills'
    ratio keeps an order where plain EI cancels and underflows to zero.

    Returns:
        Shape (n,); larger is better.

    Raises:
        ValueError: A standard deviation is not positive.

    Source:
        Ament et al., Unexpected Improvements to Expected Improvement, NeurIPS 2023.
    """
    if not np.all(std > 0):
        raise ValueError("a standard deviation is positive")
    z = (best - mean) / std
    log_phi = -0.5 * z * z - _HALF_LOG_2PI
    near = np.maximum(z, -_TAIL)
    plain = np.exp(-0.5 * near * near - _HALF_LOG_2PI) + near * normal_cdf(near)
    far = np.maximum(-z, _TAIL)
    fraction = far.copy()
    for k in range(_DEPTH, 1, -1):
        fraction = far + k / fraction
    tail = log_phi - np.log1p(far * fraction)
    return np.asarray(np.log(std) + np.where(z > -_TAIL, np.log(np.maximum(plain, 1e-300)), tail))


GROWTH = 1.2
"""Kernels are fitted anew each time there are this many times as many results; a choice of cost."""

FIRST_FIT = 6
"""Results before kernels are fitted to them where there is a source; a choice: fewer say little of scales."""

_LEAST_SHARE = 0.02
"""Experts below this weight are not asked; a choice."""

_FAILED_ABOVE = 0.5
"""Log cost of a failure above the best where all that ran was nearly alike; a choice, a factor of 1.6."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expert:
    """The prior of one Gaussian process of a mixture, tried on ``benchmarks/searches/warm_start.py``.

    Of six pairs of amplitude and length scale of the expert that trusts, the one in use was the best over all
    kernels (3.5 evaluations to within 5 %); kernels searched by the pair that was best on the others need 4.1
    (three seeds). Nothing else was tried with kernels left out.

    Attributes:
        amplitude: Expected standard deviation of what the basis does not explain, log cost.
        shorten: Added to the logarithm of the usual length scales.
        trust: Expected coefficient of a source, in units of its share.
        open: Standard deviation of that coefficient, same unit; with no trust either, no source is asked.
        noise: Standard deviation of a measurement, log cost.
        head_start: Logarithm of its weight before results.
    """

    amplitude: float
    shorten: float
    trust: float = 0.0
    open: float = 0.0
    noise: float = 0.05
    head_start: float = 0.0

    @property
    def uses_sources(self) -> bool:
        """True where it uses the predictions of sources."""
        return self.trust != 0 or self.open != 0


TRUSTING = (
    Expert(amplitude=0.3, shorten=-0.5, trust=1.0, open=0.5, noise=0.03, head_start=3.0),
    Expert(amplitude=0.5, shorten=0.0),
    Expert(amplitude=0.5, shorten=0.0, open=1.0),
)
"""Experts of a search with sources."""

ALONE = (Expert(amplitude=1.0, shorten=0.0),)
"""Experts of a search without: amplitude and noise are then in units of the spread of its results."""

_OFFSET = 0.5
"""Standard deviation of the constant, log cost, once results are centred; a choice."""


State: TypeAlias = "list[tuple[object, ...]]"
"""Snapshot of a mixture, for ``Mixture.restore`` alone."""


class Mixture:
    """Beliefs about one objective over a pool of candidates.

    Args:
        features: Of the pool, shape (N, k).
        groups: Parameter of each column, shape (k,).
        predictions: Of the sources, relative log cost, shape (N, s); s may be 0.
        shares: What each source's prediction counts at first, shape (s,), summing to at most 1.
        doubt: How unsure the sources are; the mixture tells it of a larger pool.
        soft: Whether costs are warped (``recommender.search.belief.transfer``) before they are believed.
        experts: Priors of its processes; None for the usual ones.
    """

    def __init__(
        self,
        *,
        features: NDArray[np.float32],
        groups: NDArray[np.int64],
        predictions: NDArray[np.float64],
        shares: NDArray[np.float64],
        doubt: Doubt | None = None,
        soft: bool = False,
        experts: tuple[Expert, ...] | None = None,
    ) -> None:
        self._experts = experts or (TRUSTING if len(shares) else ALONE)
        self._count = int(groups.max()) + 1
        self._shares, self._doubt, self._soft = shares, doubt, soft
        self._source_mean = predictions @ shares
        basis = np.concatenate([np.ones((len(features), 1)), predictions], axis=1)
        self._processes = [
            PoolProcess(
                features=features,
                groups=groups,
                basis=basis,
                weights=self._weights(expert, 0.0),
                covariance=self._covariance(expert, 1.0),
                prior=self._prior(expert, 1.0),
                doubt=doubt if expert.trust else None,
            )
            for expert in self._experts
        ]
        self._rows: list[int] = []
        self._costs: list[float] = []
        self._noise: list[float] = []
        self._next_fit = FIRST_FIT if len(shares) else 0
        self.weights = self._normalised(np.array([expert.head_start for expert in self._experts]))

    def append(self, features: NDArray[np.float32], predictions: NDArray[np.float64]) -> None:
        """Make the pool larger."""
        self._source_mean = np.concatenate([self._source_mean, predictions @ self._shares])
        basis = np.concatenate([np.ones((len(features), 1)), predictions], axis=1)
        if self._doubt is not None:
            self._doubt.append(features)
        for process in self._processes:
            process.append(features, basis)

    def look(
        self, features: NDArray[np.float32], predictions: NDArray[np.float64], best: float
    ) -> NDArray[np.float64]:
        """``log_improvement`` of points outside the pool, shape (e,)."""
        basis = np.concatenate([np.ones((len(features), 1)), predictions], axis=1)
        found = []
        best = self._warped(best)
        for weight, process in self._weighted():
            mean, variance = process.look(features, basis)
            found.append(np.log(weight) + log_expected_improvement(mean, np.sqrt(variance), best))
        return np.asarray(np.logaddexp.reduce(found))

    def tell(self, row: int, cost: float, noise: float = 1.0) -> None:
        """Take in a result; deterministic in the sequence of results.

        Args:
            row: Of the pool.
            cost: Log cost; inf for a failure.
            noise: Factor on the noise variance: 1 / repeats.
        """
        self._rows.append(row)
        self._costs.append(cost)
        self._noise.append(noise)
        if not np.isfinite(self._costs).any():
            return
        if len(self._rows) >= self._next_fit:
            self._fit()
        elif len(self._shares) and len(self._rows) < FIRST_FIT:
            self._centre()
            for process in self._processes:
                process.condition(np.array(self._rows), self._finite_costs(), np.array(self._noise))
        else:
            self._condition(self._rows, self._finite_costs(), self._noise)

    def believe(self, rows: list[int]) -> None:
        """Take the mean for the result of candidates that are being evaluated; ``restore`` undoes it.

        Source:
            Ginsbourger, Le Riche and Carraro, Kriging is well-suited to parallelize optimization, 2010.
        """
        for _, process in self._weighted():
            for row in rows:
                process.add(row, float(process.mean[row]))

    def snapshot(self) -> State:
        """All that ``believe`` changes."""
        return [process.state() for process in self._processes]

    def restore(self, snapshot: State) -> None:
        """Undo ``believe``."""
        for process, state in zip(self._processes, snapshot, strict=True):
            process.go_back(state)

    def at(self, row: int) -> tuple[float, float]:
        """Mean and standard deviation of the log cost of one row; where costs are warped, to first order."""
        said = self._weighted()
        mean = sum(w * float(p.mean[row]) for w, p in said)
        variance = sum(w * (float(p.variance[row]) + (float(p.mean[row]) - mean) ** 2) for w, p in said)
        best = self._best()
        if not self._soft or best is None:
            return mean, math.sqrt(variance)
        return unwarp(mean, math.sqrt(variance), best)

    @property
    def mean(self) -> NDArray[np.float64]:
        """Posterior mean of the log cost, warped where costs are, shape (N,)."""
        return np.asarray(sum(w * p.mean for w, p in self._weighted()))

    @property
    def variance(self) -> NDArray[np.float64]:
        """Posterior variance, with what the experts disagree about, shape (N,)."""
        mean = self.mean
        return np.asarray(sum(w * (p.variance + (p.mean - mean) ** 2) for w, p in self._weighted()))

    def log_improvement(self, best: float) -> NDArray[np.float64]:
        """Logarithm of the expected improvement on ``best``, averaged over experts, shape (N,)."""
        best = self._warped(best)
        found = [
            np.log(w) + log_expected_improvement(p.mean, np.sqrt(p.variance), best)
            for w, p in self._weighted()
        ]
        return np.asarray(np.logaddexp.reduce(found))

    def improvement_without_sources(self, best: float) -> NDArray[np.float64] | None:
        """``log_improvement`` by the expert without sources; None before results or without it."""
        for expert, process in zip(self._experts, self._processes, strict=True):
            if not expert.uses_sources and np.isfinite(self._costs).any():
                costs = self._finite_costs()
                if len(process.rows) < len(costs):  # it had no say and was left behind
                    process.condition(np.array(self._rows), costs, np.array(self._noise))
                return log_expected_improvement(process.mean, np.sqrt(process.variance), self._warped(best))
        return None

    # --- below

    def _best(self) -> float | None:
        """The lowest log cost so far; None before one."""
        return min(filter(math.isfinite, self._costs), default=None)

    def _warped(self, cost: float) -> float:
        """A log cost as the processes have it."""
        best = self._best()
        return float(warp(np.array(cost), best)) if self._soft and best is not None else cost

    def _weighted(self) -> list[tuple[float, PoolProcess]]:
        kept = np.where(self.weights >= _LEAST_SHARE, self.weights, 0.0)
        kept /= kept.sum()
        return [(float(w), p) for w, p in zip(kept, self._processes, strict=True) if w > 0]

    def _finite_costs(self) -> NDArray[np.float64]:
        """Costs as the processes have them, failures as the worst that ran, or worse."""
        costs = np.array(self._costs)
        ran = np.isfinite(costs)
        best = float(costs[ran].min())
        costs = np.where(ran, costs, max(costs[ran].max(), best + _FAILED_ABOVE))
        return warp(costs, best) if self._soft else costs

    def _fit(self) -> None:
        rows, costs, noise = np.array(self._rows), self._finite_costs(), np.array(self._noise)
        self._centre()
        losses = [
            process.choose(rows, costs, noise) - expert.head_start
            for expert, process in zip(self._experts, self._processes, strict=True)
        ]
        self.weights = self._normalised(-np.array(losses))
        for process, weight in zip(self._processes, self.weights, strict=True):
            if weight >= _LEAST_SHARE:
                process.condition(rows, costs, noise)
            else:
                process.forget()
        self._next_fit = max(len(rows) + 1, int(len(rows) * GROWTH))

    def _centre(self) -> None:
        """Centre the experts on the results: what is believed of the constant does not depend on units."""
        costs = self._finite_costs()
        unit = 1.0 if len(self._shares) else max(float(costs.std()), 0.05)
        for expert, process in zip(self._experts, self._processes, strict=True):
            centre = float(costs.mean())
            if expert.uses_sources:
                centre = float(np.median(costs - expert.trust * self._source_mean[self._rows]))
            process.expect(
                self._prior(expert, unit), self._weights(expert, centre), self._covariance(expert, unit)
            )

    def _condition(self, rows: list[int], costs: NDArray[np.float64], noise: list[float]) -> None:
        for _, process in self._weighted():
            same = len(process.rows) == len(rows) - 1 and np.array_equal(process.y, costs[:-1])
            if same:
                process.add(rows[-1], float(costs[-1]), noise[-1])
            else:
                process.condition(np.array(rows), costs, np.array(noise))

    def _weights(self, expert: Expert, centre: float) -> NDArray[np.float64]:
        """Prior mean of the coefficients: the constant, then the sources."""
        return np.array([centre, *(expert.trust * self._shares)])

    def _covariance(self, expert: Expert, unit: float) -> NDArray[np.float64]:
        spread = np.maximum(self._shares, 0.1) * expert.open
        offset = _OFFSET if expert.uses_sources else unit
        return np.diag([offset**2, *(spread**2)])

    def _prior(self, expert: Expert, unit: float) -> KernelPrior:
        usual = KernelPrior.usual(self._count, expert.amplitude * unit)
        mean = usual.mean.copy()
        mean[:-2] += expert.shorten
        mean[-1] = np.log(expert.noise * unit)
        return KernelPrior(mean=mean, stdev=usual.stdev)

    @staticmethod
    def _normalised(log: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.exp(log - log.max())
        return np.asarray(found / found.sum())
