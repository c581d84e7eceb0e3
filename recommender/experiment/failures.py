"""Runs that fail: whether one arm fails more often than another, at any moment.

Among the rounds in which exactly one of two arms fails, equal arms make it a fair coin which one. With k of m
on the side of the treatment,

    e = B(k + 1/2, m - k + 1/2) / B(1/2, 1/2) * 2**m

is a mixture of likelihood ratios over all coins: under a fair one ``P(e >= 1 / alpha at any m) <= alpha``
(Ville's inequality), and looking after each round is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from kg.nouns.codec import OR_NULL, JsonNoun
from recommender.experiment.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFailures(JsonNoun):
    """The failures of two arms.

    Attributes:
        treatment: Rounds in which the treatment failed.
        control: Rounds in which the control failed.
        both: Rounds in which both did; counted in the other two as well.
        p: P-value of "they fail equally often", the lowest so far.
        verdict: ``WORSE`` or ``BETTER`` where one fails more often at the level asked for, else undecided.
        reason: The last reason of a failure; empty without one.
    """

    treatment: int = 0
    control: int = 0
    both: int = 0
    p: float = 1.0
    verdict: Verdict = Verdict.UNDECIDED
    reason: str = field(default="", metadata=OR_NULL)

    @classmethod
    def of(cls, rounds: Iterable[tuple[bool, bool]], alpha: float, *, reason: str = "") -> ArmFailures:
        """Count, looking after each round.

        Args:
            rounds: Whether the treatment and whether the control failed, in order.
            alpha: Chance of a false verdict.
            reason: The last reason of a failure.
        """
        treatment = control = both = only = single = 0
        p, verdict = 1.0, Verdict.UNDECIDED
        for failed, control_failed in rounds:
            treatment += failed
            control += control_failed
            both += failed and control_failed
            if failed == control_failed:
                continue
            single += 1
            only += failed
            p = min(p, math.exp(-_log_evidence(only, single)))
            if p <= alpha and verdict is Verdict.UNDECIDED:
                verdict = Verdict.WORSE if 2 * only > single else Verdict.BETTER
        return cls(treatment=treatment, control=control, both=both, p=p, verdict=verdict, reason=reason)


def _log_evidence(k: int, m: int) -> float:
    """Log of e, at least zero."""
    found = math.lgamma(k + 0.5) + math.lgamma(m - k + 0.5) - math.lgamma(m + 1)
    return max(0.0, found - math.log(math.pi) + m * math.log(2))
