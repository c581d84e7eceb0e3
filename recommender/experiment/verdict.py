"""Verdicts: what an interval says about an effect, given a margin that was chosen beforehand."""

import math
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The result of a comparison."""

    BETTER = "better"
    EQUIVALENT = "equivalent"
    WORSE = "worse"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An effect and how well it is known.

    Attributes:
        mean: Log ratio, above zero if the treatment is better; nan if nothing was measured.
        low: Lower end; minus infinity where nothing is excluded.
        high: Upper end.
        p: P-value of no effect.
        pairs: What it rests on.
        noise: Standard deviation of one log ratio; nan before the second.
    """

    mean: float
    low: float
    high: float
    p: float
    pairs: int
    noise: float = math.nan

    def verdict(self, margin: float) -> Verdict:
        """The verdict: inside the margin is equivalent, wholly above zero better, wholly below worse.

        Args:
            margin: Log ratio, above zero; differences smaller than it do not matter.
        """
        if -margin < self.low and self.high < margin:
            return Verdict.EQUIVALENT
        if self.low > 0:
            return Verdict.BETTER
        return Verdict.WORSE if self.high < 0 else Verdict.UNDECIDED

    def to_json(self) -> dict[str, float | int | None]:
        """Plain JSON: the interval as factors and as natural logs; unknown values are null."""
        return {
            "ratio": _factor(self.mean),
            "ratio_low": _factor(self.low),
            "ratio_high": _factor(self.high),
            "log_mean": _finite(self.mean),
            "log_low": _finite(self.low),
            "log_high": _finite(self.high),
            "p": self.p,
            "pairs": self.pairs,
            "noise": _finite(self.noise),
        }


UNKNOWN = Interval(mean=math.nan, low=-math.inf, high=math.inf, p=1.0, pairs=0)
"""Before the first pair."""


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _factor(value: float) -> float | None:
    """A log ratio as a factor; null if it is unknown or beyond what a number can hold."""
    return math.exp(value) if math.isfinite(value) and abs(value) < 700 else None
