"""The confidence that a cause is the reason why a run is slow, beside the others that are named.

That a pattern is there is one question, and the posterior answers it; which of those that are there is the
reason is another. It hangs on the part of the time which all named repairs are likely to save that is its
own: a logistic curve of that part, whose two constants were fitted where the reason was known.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

BIAS, SLOPE = -6.1, 12.6
"""Log odds at no part, and their growth to the whole. Fitted by benchmarks/profiles/reason_confidence.py to
293 causes that were named for faults put into two jobs whose own losses stayed in; how they do on four other
jobs is in docs/figures-diagnosis.md."""

MOST = 0.99
"""Of the causes that were named alone in those two jobs 102 of 102 were the reason: by Laplace's rule of
succession 103 of 104."""


def parts(saved_us: Sequence[float]) -> tuple[float, ...]:
    """The part of each in the time that all named repairs are likely to save; 0 where nothing is saved."""
    total = sum(saved_us)
    return tuple(us / total if total > 0 else 0.0 for us in saved_us)


def confidence_of(part: float) -> float:
    """The confidence that a cause of this part is the reason, 0 to 1."""
    return min(MOST, 1 / (1 + math.exp(-(BIAS + SLOPE * part))))
