"""The confidence that a cause is the reason why a run is slow, beside the others that are named.

That a pattern is there is one question, and the posterior answers it; which of those that are there is the
reason is another. It hangs on the part of the time which all named repairs are likely to save that is its
own: a logistic curve of that part, whose slope was fitted where the reason was known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

SLOPE = 11.6
"""Growth of the log odds from no part to the whole; they are even at one half, for of two causes with half of
the time each one is the reason. Fitted by benchmarks/profiles/reason_confidence.py to 812 causes that were
named for faults put into six jobs whose own losses stayed in; how the curve of five jobs does on the sixth is
in docs/figures-diagnosis.md."""

MOST = 0.98
"""Most that is said, of a cause that is named alone: by Laplace's rule of succession over the six jobs."""


def parts(saved_us: Sequence[float]) -> tuple[float, ...]:
    """The part of each in the time that all named repairs are likely to save; 0 where nothing is saved."""
    total = sum(saved_us)
    return tuple(us / total if total > 0 else 0.0 for us in saved_us)


def confidence_of(part: float) -> float:
    """The confidence that a cause of this part is the reason, 0 to 1."""
    return min(MOST, 1 / (1 + math.exp(-SLOPE * (part - 0.5))))
