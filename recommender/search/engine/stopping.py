"""The rule that ends a search: budget, patience, or too small an expected gain."""

from __future__ import annotations

from dataclasses import dataclass


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
