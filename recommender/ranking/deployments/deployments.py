"""The deployments of a question, best first: layouts of a domain, priced, corrected by measured ones."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from recommender.calibration.step_rates import StepFeatures, StepKernel, StepRates
from recommender.ranking.deployments.deployment import Deployment, RatedDeployment
from recommender.ranking.deployments.deployment_prices import DeploymentPricer
from recommender.ranking.start import ParallelLayout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from kg.nouns.entities import Limit
    from kg.nouns.values import Value
    from kg.triples.hardware_tree import HardwareTree
    from recommender.ranking.deployments.deployment import DeploymentDomain
    from recommender.ranking.deployments.deployment_prices import DeploymentPrice
    from recommender.ranking.deployments.served_cases import ServedCase, Work

    Floats = NDArray[np.float64]

MODELLED_SPREAD = 0.45
"""Spread of a modelled time where nothing measured speaks: that of the cost model's serving step."""
_POINTS = tuple(NormalDist().inv_cdf((place + 0.5) / 15) for place in range(15))
"""Quantiles of a normal error, equally likely."""
FARTHEST = 10.0
"""Factor beyond which a measured time is of something else, such as a rate of other tokens; a choice."""
LEAST_SHARE = 0.5
"""Share of a request's time that its decoding takes at least, where its prefill is subtracted; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentQuestion:
    """What deployments are asked for.

    Attributes:
        work: What is served.
        domain: What is open.
        limits: Bounds on ``tpot``, ``ttft`` or ``latency``, in seconds; others are not looked at.
        has_experts: Whether the model has experts to spread.
    """

    work: Work
    domain: DeploymentDomain
    limits: tuple[Limit, ...] = ()
    has_experts: bool = False


class Deployments:
    """Rates deployments by the cost model and by what is measured.

    Args:
        tree: Knows hardware.
        sizes_of: Facts of a model by its id.
        cases: Reads the measured deployments nearest to some work, or all.
        kernel: Likeness of configurations.
    """

    def __init__(
        self,
        tree: HardwareTree,
        sizes_of: Callable[[str], Mapping[str, Value]],
        cases: Callable[[Work | None], Sequence[ServedCase]],
        kernel: StepKernel | None = None,
    ) -> None:
        self._tree = tree
        self._pricer = DeploymentPricer(tree, sizes_of)
        self._cases = cases
        self._kernel = kernel
        self._numbers: dict[str, int] = {}
        self._rates: dict[Work, StepRates | None] = {}
        self._near: dict[Work | None, Counter[tuple[str, ParallelLayout]]] = {}

    def rate(self, question: DeploymentQuestion) -> list[RatedDeployment]:
        """Every layout of the domain that fits, with the load that suits it best, best first."""
        loads: dict[tuple[str, ParallelLayout, bool], list[RatedDeployment]] = {}
        for rated in self.rate_all(question):
            one = rated.deployment
            loads.setdefault((one.framework, one.layout, one.drafts), []).append(rated)
        best = [
            (layout_value(rated, question), max(rated, key=lambda item: item.value))
            for rated in loads.values()
        ]
        return [item for _, item in sorted(best, key=lambda pair: (-pair[0], pair[1].devices))]

    def rate_all(self, question: DeploymentQuestion) -> list[RatedDeployment]:
        """Every layout of the domain that fits, at every load."""
        work = question.work
        asked = [(work, one) for one in candidates(question)]
        priced = [
            (one, price)
            for (_, one), price in zip(asked, self._pricer.prices(asked), strict=True)
            if price is not None and one.concurrency < 2 * price.in_flight
        ]
        if not priced:
            return []
        parts = np.array([price.parts_s for _, price in priced])
        measured = self.measured(work)
        if measured is None:
            times = np.log(parts.sum(axis=1))
            spreads = np.full(len(priced), MODELLED_SPREAD)
        else:
            times, spreads = measured.predict(self._features([(work, one) for one, _ in priced]), parts)
        near = self._near[work]
        return [
            _rated(
                question, one, price, math.exp(time), float(spread), near.get((one.framework, one.layout), 0)
            )
            for (one, price), time, spread in zip(priced, times.tolist(), spreads.tolist(), strict=True)
        ]

    def expected_times(
        self, work: Work, asked: Sequence[Deployment]
    ) -> list[tuple[float, float, int] | None] | None:
        """What measured rows make of the modelled time of an output token.

        Returns:
            For each deployment the factor on its modelled time, the standard deviation of the log, and the
            number of measured rows of its layout; None where it has no price. None for all if nothing is
            measured.
        """
        rates = self.measured(work)
        if rates is None:
            return None
        prices = self._pricer.prices([(work, one) for one in asked])
        places = [place for place, price in enumerate(prices) if price is not None]
        found: list[tuple[float, float, int] | None] = [None] * len(asked)
        if not places:
            return found
        parts = np.array([price.parts_s for price in prices if price is not None])
        means, spreads = rates.predict(self._features([(work, asked[place]) for place in places]), parts)
        factors = np.exp(means) / parts.sum(axis=1)
        for place, factor, spread in zip(places, factors.tolist(), spreads.tolist(), strict=True):
            one = asked[place]
            found[place] = (factor, spread, self._near[work].get((one.framework, one.layout), 0))
        return found

    def measured(self, work: Work) -> StepRates | None:
        """Rates from the measured rows that are nearest to some work; None if there are none."""
        if work not in self._rates:
            known, parts, times = self.rows(work)
            kernel = self._kernel or StepKernel.shipped()
            self._rates[work] = StepRates.fit(kernel, known, parts, times) if len(times) else None
        return self._rates[work]

    def rows(self, work: Work | None) -> tuple[StepFeatures, Floats, Floats]:
        """Features, modelled parts and measured seconds of the rows nearest to some work, or of all."""
        cases = self._cases(work)
        prices = self._pricer.prices([(case.work, case.deployment) for case in cases])
        priced = [
            (case, price)
            for case, price in zip(cases, prices, strict=True)
            if price is not None and _is_plausible(implied_time_s(case, price), price)
        ]
        self._near[work] = Counter((case.deployment.framework, case.deployment.layout) for case, _ in priced)
        return (
            self._features([(case.work, case.deployment) for case, _ in priced]),
            np.array([price.parts_s for _, price in priced]),
            np.array([implied_time_s(case, price) for case, price in priced]),
        )

    def _features(self, rows: Sequence[tuple[Work, Deployment]]) -> StepFeatures:
        kinds, sizes, switches = [], [], []
        for work, one in rows:
            path = self._tree.path(work.device) or (work.device,)
            names = (
                f"device {work.device}", f"architecture {path[min(1, len(path) - 1)]}", f"vendor {path[-1]}",
                f"model {work.model}", f"framework {one.framework}", f"precision {work.precision}",
            )  # fmt: skip
            kinds.append([self._numbers.setdefault(name, len(self._numbers)) for name in names])
            loads = (one.concurrency, one.layout.tp, work.input_len, work.output_len)
            sizes.append([math.log2(item) for item in loads])
            switches.append([one.layout.ep > 1, one.layout.dp_attention, one.drafts])
        return StepFeatures(np.array(kinds), np.array(sizes), np.array(switches, dtype=np.float64))


def layout_value(loads: Sequence[RatedDeployment], question: DeploymentQuestion) -> float:
    """Output tokens a second and device that a layout reaches once its load is tuned to the limits, expected.

    The error of its time is one for all loads: whoever runs it finds the largest load that keeps the limits.
    """
    total = 0.0
    for point in _POINTS:
        reached = [
            one.throughput / one.devices / math.exp(one.spread * point)
            for one in loads
            if all(
                one.times[limit.metric] * math.exp(one.spread * point) <= limit.maximum
                for limit in question.limits
                if limit.metric in one.times
            )
        ]
        total += max(reached, default=0.0)
    return total / len(_POINTS)


def implied_time_s(case: ServedCase, price: DeploymentPrice) -> float:
    """Seconds of an output token that a measured rate implies.

    Requests in flight over requests a second is the time of one (Little); what its prefill leaves is
    decoding.
    """
    work = case.work
    tokens = work.input_len + work.output_len
    request_s = price.in_flight * tokens / (case.rate * case.deployment.layout.devices)
    return max(request_s - price.ttft_s, LEAST_SHARE * request_s) / work.output_len


def _is_plausible(time_s: float, price: DeploymentPrice) -> bool:
    """Whether a time is near enough to the modelled one to be of what was modelled."""
    return abs(math.log(time_s / sum(price.parts_s))) <= math.log(FARTHEST)


def candidates(question: DeploymentQuestion) -> Iterator[Deployment]:
    """The deployments of a domain: tensors over all devices of an instance, with and without each switch."""
    domain = question.domain
    loads = sorted({2.0**k for k in range(int(math.log2(domain.most_at_once)) + 1)} | {domain.most_at_once})
    for framework, count in itertools.product(domain.frameworks, domain.counts):
        plain = ParallelLayout(tp=count)
        layouts = [plain]
        if question.has_experts and count > 1:
            layouts += [
                replace(plain, ep=count),
                replace(plain, ep=count, dp=count, dp_attention=True),
            ]
        for layout, drafts in itertools.product(layouts, (False, True) if domain.drafts else (False,)):
            for load in loads:
                yield Deployment(framework=framework, layout=layout, drafts=drafts, concurrency=load)


def _rated(
    question: DeploymentQuestion,
    one: Deployment,
    price: DeploymentPrice,
    tpot_s: float,
    spread: float,
    near: int,
) -> RatedDeployment:
    work = question.work
    request_s = price.ttft_s + work.output_len * tpot_s
    requests = price.in_flight / request_s
    times = {"tpot": tpot_s, "ttft": price.ttft_s, "latency": request_s}
    chance = 1.0
    for limit in question.limits:
        if limit.metric in times:
            chance = min(chance, _below(limit.maximum / times[limit.metric], spread))
    return RatedDeployment(
        deployment=replace(one, concurrency=min(one.concurrency, price.in_flight)),  # the others wait
        throughput=requests * work.output_len,
        requests_per_s=requests,
        tpot_s=tpot_s,
        ttft_s=times["ttft"],
        latency_s=times["latency"],
        chance=chance,
        spread=spread,
        near=near,
        memory_bytes=price.memory_bytes,
        watts=price.watts,
    )


def _below(ratio: float, spread: float) -> float:
    """Chance that a time with a log-normal error stays below ``ratio`` times its expectation."""
    return 0.5 * (1 + math.erf(math.log(ratio) / spread / math.sqrt(2)))
