"""A fleet: instances of one deployment under a rate of requests, and how likely it keeps limits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

from kg.nouns.entities import Limit
from kg.nouns.gain import normal_share
from kg.terms.metrics import PERCENTILES
from recommender.cost_model.workloads.queue import longest_waiting_s, waiting_s
from recommender.ranking.deployments.deployment import RatedDeployment

INSTANCES = 4096
"""Instances at most."""
_WIDEST = 8.0
"""Standard deviations beyond which an error is not looked for."""
_HALVINGS = 30
_TIMES = ("tpot", "ttft", "latency")
_METRICS = (*_TIMES, *(f"{kind}_{end}" for end in PERCENTILES for kind in _TIMES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Instances of one deployment.

    Attributes:
        rated: One of them.
        instances: Their number.
        rate_per_s: Requests a second for all; 0 where none is stated: then nobody waits.
    """

    rated: RatedDeployment
    instances: int = 1
    rate_per_s: float = 0.0

    @property
    def devices(self) -> int:
        """Devices of all instances."""
        return self.rated.devices * self.instances

    def load(self, factor: float = 1.0) -> float:
        """Requests that come over those that can be answered where times are ``factor`` as long."""
        return factor * self.rate_per_s / (self.instances * self.rated.requests_per_s)

    def times(self) -> dict[str, float]:
        """Seconds by the metric of a limit; a request waits for one replica of an instance."""
        times = {metric: self.time(metric) for metric in _METRICS}
        return {metric: time_s for metric, time_s in times.items() if time_s is not None}

    def time(self, metric: str, factor: float = 1.0) -> float | None:
        """Seconds of a metric where times are ``factor`` as long; None if it is no time of these."""
        if metric not in _METRICS:
            return None
        rated, (kind, _, end) = self.rated, metric.partition("_")
        if kind == "tpot":
            if not end:
                return factor * rated.tpot_s
            return factor * rated.step.results[f"tpot_{end}_s"] if rated.tpot_s else None
        if kind == "latency" and end:
            first, token = (self.time(f"{name}_{end}", factor) or 0.0 for name in ("ttft", "tpot"))
            answered = (rated.latency_s - rated.ttft_s) / rated.tpot_s if rated.tpot_s else 0.0
            return first + token * answered
        one = rated.deployment
        turn = factor * one.layout.dp / rated.requests_per_s
        queue = (self.load(factor), turn, one.concurrency / one.layout.dp, factor * rated.ttft_s)
        waiting = longest_waiting_s(*queue, PERCENTILES[end]) if end else waiting_s(*queue)
        return factor * (rated.latency_s if kind == "latency" else rated.ttft_s) + float(waiting)

    def keeps(self, limits: Sequence[Limit], factor: float = 1.0) -> bool:
        """True if the rate is served within the limits where times are ``factor`` as long."""
        if self.load(factor) >= 1:
            return False
        times = ((self.time(limit.metric, factor), limit.maximum) for limit in limits)
        return all(time_s is None or time_s <= most_s for time_s, most_s in times)

    def chance(self, limits: Sequence[Limit]) -> float:
        """Chance that the rate is served within the limits: the times have one log-normal error."""
        low, high = -_WIDEST, _WIDEST
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            holds = self.keeps(limits, math.exp(middle * self.rated.spread))
            low, high = (middle, high) if holds else (low, middle)
        return normal_share(low)


def fewest(rated: RatedDeployment, rate_per_s: float, limits: Sequence[Limit], chance: float) -> Fleet | None:
    """The fewest instances that serve a rate within the limits with a chance; None if none are enough."""
    factor = math.exp(NormalDist().inv_cdf(chance) * rated.spread)
    least = max(1, math.floor(factor * rate_per_s / rated.requests_per_s))
    one = Fleet(rated=rated, instances=INSTANCES, rate_per_s=rate_per_s)
    if least > INSTANCES or not one.keeps(limits, factor):
        return None
    most = INSTANCES
    while least < most:
        middle = (least + most) // 2
        if replace(one, instances=middle).keeps(limits, factor):
            most = middle
        else:
            least = middle + 1
    return replace(one, instances=most)
