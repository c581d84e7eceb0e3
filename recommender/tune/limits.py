"""Limits on the latency of requests, and when enough of them have been seen to say whether they are kept.

A limit such as ``ttft_p99<=2s`` is kept where 99 % of the requests stay within it. While a probe runs, the
share is watched with the mixture martingale of a binomial, whose interval holds at every moment:

    M[n] = B(1 + k, 1 + n - k) / (q**k * (1 - q)**(n - k)),   k of n requests within, q the share asked for

Under a share of q, ``P(M[n] >= 1 / alpha at any n) <= alpha`` (Ville's inequality; Robbins 1970).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ingest.questions.limits import parse_limit
from kg.errors import InputError
from recommender.tune.load import RequestRecord

_METRIC = re.compile(r"(ttft|tpot|e2e|e2e_latency)(?:_p(\d{1,2}(?:\.\d+)?))?")
USUAL_SHARE = 0.9
"""Share of the requests that must stay within a limit that names no percentile; a choice, as peers have."""
ALPHA = 0.05
"""Chance that a probe is ended early for a share that is not what it says; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyLimit:
    """A limit on a latency.

    Attributes:
        metric: ``ttft``, ``tpot`` or ``e2e``.
        share: Part of the requests that must stay within it.
        bound_s: The bound.
        text: As it was written.
    """

    metric: str
    share: float
    bound_s: float
    text: str

    @classmethod
    def parse(cls, text: str) -> LatencyLimit:
        """Read ``"ttft_p99<=2s"`` or ``"tpot<=50ms"``.

        Raises:
            InputError: It is no limit on a latency.
        """
        refused = InputError(f"--limit {text!r}: tune keeps latencies", hint="ttft_p99<=2s, tpot_p90<=50ms")
        try:
            limit = parse_limit(text)
        except InputError:
            raise refused from None
        found = _METRIC.fullmatch(limit.metric)
        if found is None or limit.unit != "s":
            raise refused
        share = float(found[2]) / 100 if found[2] else USUAL_SHARE
        if not 0 < share < 1:
            raise InputError(f"--limit {text!r}: a percentile between 0 and 100")
        return cls(metric=found[1][:4].rstrip("_"), share=share, bound_s=limit.maximum, text=text.strip())

    def is_kept(self, record: RequestRecord) -> bool:
        """True if a request stays within the limit; one that failed does not."""
        value = record.latency(self.metric)
        return value is not None and value <= self.bound_s


def shares(records: Sequence[RequestRecord], limits: Sequence[LatencyLimit]) -> list[float]:
    """The share of requests within each limit."""
    return [sum(map(limit.is_kept, records)) / max(1, len(records)) for limit in limits]


def are_kept(records: Sequence[RequestRecord], limits: Sequence[LatencyLimit]) -> bool:
    """True if the share of each limit is reached; False without any request."""
    asked = zip(shares(records, limits), limits, strict=True)
    return bool(records) and all(found >= limit.share for found, limit in asked)


def verdict(records: Sequence[RequestRecord], limits: Sequence[LatencyLimit]) -> bool | None:
    """Decide if the limits are kept as soon as the requests so far allow it; None while they do not."""
    decided = [
        _decided(sum(map(limit.is_kept, records)), len(records), limit.share, ALPHA / max(1, len(limits)))
        for limit in limits
    ]
    if False in decided:
        return False
    return True if decided and all(decided) else None


def _decided(kept: int, n: int, share: float, alpha: float) -> bool | None:
    """True if a share is above the target, False if below it; None where that is still open."""
    missed = n - kept
    log_m = math.lgamma(1 + kept) + math.lgamma(1 + missed) - math.lgamma(2 + n)
    log_m -= kept * math.log(share) + missed * math.log1p(-share)
    return kept / n > share if n and log_m >= -math.log(alpha) else None
