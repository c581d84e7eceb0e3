"""Ask and tell: the search itself, without storage, clock or console."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kg.entities import Better
from kg.errors import InfeasibleError, InputError
from recommender.search.evaluations import Suggestion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kg.entities import Limit, Objective
    from kg.values import Settings
    from recommender.search.evaluations import Evaluation, SourceTable
    from recommender.search.space import SearchSpace


class Search:
    """A search over one space.

    Args:
        space: What may be proposed.
        objectives: What decides; several give a Pareto front.
        limits: Bounds on other metrics; an evaluation's values hold them after the objectives'.
        sources: What is known of similar problems.
        default: Proposed among the first, if given.
        seed: Of the search's own randomness.
        budget: Evaluations after which ``stop_reason`` speaks; None for no bound.
        patience: Evaluations without gain after which ``stop_reason`` speaks; None for no bound.
        minimum_gain: Expected gain (log, 0.01 is 1 %) below which ``stop_reason`` speaks; 0 for never.
    """

    def __init__(
        self,
        *,
        space: SearchSpace,
        objectives: tuple[Objective, ...],
        limits: tuple[Limit, ...] = (),
        sources: Sequence[SourceTable] = (),
        default: Settings | None = None,
        seed: int = 0,
        budget: int | None = None,
        patience: int | None = None,
        minimum_gain: float = 0.0,
    ) -> None:
        if not objectives:
            raise InputError("a search needs an objective")
        self.space, self.objectives, self.limits = space, objectives, limits
        self.budget, self.patience, self.minimum_gain = budget, patience, minimum_gain
        self._rng = np.random.default_rng(seed)
        self._asked: dict[int, Suggestion] = {}
        self._seen: set[str] = set()
        self._evaluations: list[Evaluation] = []
        self._numbers = 0

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """All that was told, in order."""
        return tuple(self._evaluations)

    def ask(self, n: int = 1) -> list[Suggestion]:
        """Up to ``n`` configurations to evaluate next, none proposed before; fewer if no more exist.

        Raises:
            InfeasibleError: Nothing satisfies the constraints.
        """
        found: list[Suggestion] = []
        for configuration in self.space.sample(self._rng, len(self._seen) + 4 * n):
            if len(found) < n and configuration.digest not in self._seen:
                self._seen.add(configuration.digest)
                suggestion = Suggestion(number=self._numbers, configuration=configuration, origin="random")
                self._asked[self._numbers] = suggestion
                self._numbers += 1
                found.append(suggestion)
        return found

    def tell(self, evaluation: Evaluation, number: int | None = None) -> None:
        """Take in what came out, of a suggestion (its ``number``) or of anything else in the space.

        Raises:
            InputError: The configuration is no point of the space, or another than was suggested.
        """
        if number is not None and (asked := self._asked.pop(number, None)) is not None:
            if asked.configuration != evaluation.configuration:
                raise InputError(f"suggestion {number} was another configuration")
        else:
            self.space.encode([evaluation.configuration])
        self._seen.add(evaluation.configuration.digest)
        self._evaluations.append(evaluation)

    @property
    def incumbent(self) -> Evaluation | None:
        """The best evaluation by the first objective that keeps all limits; None before there is one."""
        sign = 1 if self.objectives[0].better is Better.LOWER else -1
        allowed = [e for e in self._evaluations if e.ok and self.keeps_limits(e)]
        return min(allowed, key=lambda e: sign * (e.values[0] or 0.0), default=None)

    def keeps_limits(self, evaluation: Evaluation) -> bool:
        """Whether all limits are known to be kept."""
        bounds = evaluation.values[len(self.objectives) :]
        return len(bounds) >= len(self.limits) and all(
            value is not None and value <= limit.maximum
            for value, limit in zip(bounds, self.limits, strict=False)
        )

    @property
    def front(self) -> list[Evaluation]:
        """Evaluations that keep the limits and that no other is better than in everything."""
        best = self.incumbent
        return [] if best is None else [best]

    @property
    def stop_reason(self) -> str | None:
        """Why to stop now; None to go on."""
        if self.budget is not None and len(self._evaluations) >= self.budget:
            return f"budget of {self.budget} evaluations used"
        return None

    def require_feasible(self) -> None:
        """Raise if the space is empty.

        Raises:
            InfeasibleError: Nothing satisfies the constraints.
        """
        if self.space.finite and next(iter(self.space.blocks()), None) is None:
            raise InfeasibleError("no configuration satisfies the constraints")
