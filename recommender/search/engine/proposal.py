"""The choice of the candidate to evaluate next, and the rule that ends a search."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recommender.search.belief.mixture import Mixture, State, normal_cdf
from recommender.search.engine.feasibility import FeasibilityModel
from recommender.search.engine.pareto import augmented_chebyshev
from recommender.search.engine.tally import Tally

_WORTHWHILE, _PATIENT = 0.05, 10.0
"""Log gain that an evaluation looks for at first, and evaluations after which half of it will do; choices."""

_FIRST_CHECK = 4
"""Evaluations before the first that leaves the sources out, a power of two; a choice."""

_HOPELESS = 0.02
"""A candidate less likely than this to run within limits waits until nothing likelier is left; a choice."""

_LEAST = 1e-12
"""Under this a probability counts as this, so that its logarithm stays finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRule:
    """Bounds that end a search, each None or 0 where it does not apply.

    Attributes:
        budget: Evaluations.
        patience: Evaluations in a row without gain; repeats of finalists do not count.
        minimum_gain: Expected gain of the best next evaluation, log cost: 0.01 is 1 %.
    """

    budget: int | None = None
    patience: int | None = None
    minimum_gain: float = 0.0

    def reason(
        self, *, evaluations: int, idle: int, open_points: int | None, expected: float | None
    ) -> str | None:
        """The reason to stop now.

        Args:
            evaluations: Told so far.
            idle: In a row without gain.
            open_points: Candidates not yet proposed; None where there is no end of them.
            expected: Expected gain of the next evaluation, log cost; None where no model spoke.

        Returns:
            A sentence for people; None to go on.
        """
        if self.budget is not None and evaluations >= self.budget:
            return f"budget of {self.budget} evaluations used"
        if open_points == 0:
            return "every configuration of the space was evaluated"
        if self.patience is not None and idle >= self.patience:
            return f"no gain in {idle} evaluations"
        if self.minimum_gain > 0 and expected is not None and expected < self.minimum_gain:
            return f"expected gain of the next evaluation {expected:.2%}, below {self.minimum_gain:.2%}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Beliefs:
    """The posterior of each candidate: its objectives, its limits, and whether it runs.

    Attributes:
        objectives: Of each objective's log cost.
        limits: Of each limit's excess in units of the limit; at most 0 where it is kept.
        feasibility: Whether a candidate runs at all.
    """

    objectives: tuple[Mixture, ...]
    limits: tuple[Mixture, ...]
    feasibility: FeasibilityModel

    def tell(self, row: int, costs: list[float | None], noise: float) -> None:
        """Take in a result: log costs (inf: failed), then excesses; None where unknown."""
        for mixture, cost in zip((*self.objectives, *self.limits), costs, strict=True):
            if cost is not None:
                mixture.tell(row, cost, noise)

    def append(self, features: NDArray[np.float32], predictions: NDArray[np.float64]) -> None:
        """Make the pool larger; ``predictions`` of the sources, shape (e, s)."""
        for k, mixture in enumerate((*self.objectives, *self.limits)):
            mixture.append(features, predictions if k == 0 else predictions[:, :0])
        self.feasibility.append(features)

    def believe(self, rows: list[int]) -> None:
        """Take the mean for the result of rows that are being evaluated."""
        for mixture in (*self.objectives, *self.limits):
            mixture.believe(rows)

    def snapshot(self) -> list[State]:
        """All that ``believe`` changes."""
        return [mixture.snapshot() for mixture in (*self.objectives, *self.limits)]

    def restore(self, snapshot: list[State]) -> None:
        """Back to a snapshot."""
        for mixture, state in zip((*self.objectives, *self.limits), snapshot, strict=True):
            mixture.restore(state)

    def expected(self, row: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Means and standard deviations of the log costs of a row."""
        found = [mixture.at(row) for mixture in self.objectives]
        return tuple(mean for mean, _ in found), tuple(stdev for _, stdev in found)

    def promise(
        self, features: NDArray[np.float32], predictions: NDArray[np.float64], best: list[float]
    ) -> NDArray[np.float64]:
        """Log expected improvement of candidates outside the pool, the best of all objectives, shape (e,)."""
        chances = [
            mixture.look(features, predictions if k == 0 else predictions[:, :0], best[k])
            for k, mixture in enumerate(self.objectives)
        ]
        return np.asarray(np.max(chances, axis=0))

    def log_allowed(self) -> NDArray[np.float64]:
        """Logarithm of the probability that a candidate runs and keeps the limits, shape (N,)."""
        found = np.log(np.maximum(self.feasibility.probability, _LEAST))
        for mixture in self.limits:
            kept = normal_cdf(-mixture.mean / np.sqrt(mixture.variance))
            found = found + np.log(np.maximum(kept, _LEAST))
        return np.asarray(found)

    def expected_gain(self, open_: NDArray[np.bool_], best: float | None) -> float | None:
        """Largest expected gain of one evaluation, log cost; None before anything ran."""
        if best is None or not open_.any():
            return None
        gain = self.objectives[0].log_improvement(best) + self.log_allowed()
        return math.exp(float(gain[open_].max()))


def propose(
    beliefs: Beliefs, open_: NDArray[np.bool_], tally: Tally, rng: np.random.Generator, step: int = 0
) -> int:
    """The row to evaluate next.

    Args:
        beliefs: Of every candidate.
        open_: Which rows may be proposed; at least one.
        tally: What came out so far.
        rng: For the weights where there are several objectives.
        step: How many were proposed before; at some steps the sources are not asked.
    """
    allowed = beliefs.log_allowed()
    likely = open_ & (allowed >= math.log(_HOPELESS))
    if likely.any():  # else the gain of what surely breaks a limit outweighs any smallness of its chance
        open_ = likely
    _, costs = tally.comparable()
    if not len(costs):
        # Nothing that counts yet: the likeliest to be allowed, then the best expected.
        score = allowed - beliefs.objectives[0].mean if not beliefs.limits or not tally.has_run else allowed
    elif len(beliefs.objectives) == 1:
        best = float(costs.min()) - target_gain(len(tally.evaluations))
        alone = beliefs.objectives[0].improvement_without_sources(best) if _checks(step) else None
        score = (beliefs.objectives[0].log_improvement(best) if alone is None else alone) + allowed
    else:
        means = np.stack([mixture.mean for mixture in beliefs.objectives], axis=1)
        stds = np.sqrt(np.stack([mixture.variance for mixture in beliefs.objectives], axis=1))
        score = allowed + worth_for_front(means, stds, costs, rng)
    return int(np.argmax(np.where(open_, score, -np.inf)))


def target_gain(evaluations: int) -> float:
    """Log gain that an evaluation looks for after so many."""
    return _WORTHWHILE / (1.0 + evaluations / _PATIENT)


def _checks(step: int) -> bool:
    """True if the sources are left out: at 4, 8, 16 ..., so that wrong ones cost few evaluations."""
    return step >= _FIRST_CHECK and step & (step - 1) == 0


def worth_for_front(
    means: NDArray[np.float64],
    stds: NDArray[np.float64],
    costs: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Worth of each candidate for the front, on a log scale, shape (N,).

    A draw of each posterior, weighed at random: each step looks at another part of the front.

    Source:
        Knowles, ParEGO, IEEE Transactions on Evolutionary Computation 10(1), 2006, for the random weights.
    """
    low, high = costs.min(axis=0), costs.max(axis=0)
    weights = rng.dirichlet(np.ones(costs.shape[1]))
    drawn = (means + stds * rng.standard_normal(means.shape) - low) / np.maximum(high - low, 0.05)
    return -augmented_chebyshev(drawn, weights)
