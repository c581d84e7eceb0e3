"""The deployments of a question: layouts and loads of a domain, with what each is expected to reach."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING

from kg.nouns.layout import ParallelLayout
from recommender.ranking.deployments.deployment import Deployment, RatedDeployment
from recommender.ranking.deployments.deployment_prices import DeploymentPricer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kg.nouns.values import Value
    from kg.triples.hardware_tree import HardwareTree
    from recommender.cost_model.question import Question
    from recommender.ranking.deployments.deployment import DeploymentQuestion, Work
    from recommender.ranking.deployments.deployment_prices import DeploymentPrice


PREFILL, DECODE = "prefill", "decode"
ENGINES = ("tensorrt-llm", "vllm", "atom", "sglang")
"""Engines in the order in which deployments of one price are proposed: by measured over modelled time in the
tables of InferenceMAX (0.78, 0.85, 0.86, 1.0, medians on the same GPUs)."""


class Deployments:
    """Rates deployments by the cost model.

    Args:
        tree: Knows hardware.
        sizes_of: Facts of a model by its id.
        about: Gives a question what measured runs near by make of its prices; None for nothing.
    """

    def __init__(
        self,
        tree: HardwareTree,
        sizes_of: Callable[[str], Mapping[str, Value]],
        about: Callable[[Question], Question] | None = None,
    ) -> None:
        self._pricer = DeploymentPricer(tree, sizes_of, about or (lambda question: question))

    def precision(self, work: Work) -> str:
        """The number format that some work is computed in."""
        return self._pricer.precision(work)

    def links(self, work: Work, devices: int) -> str:
        """What to know of the links that a price of so many devices rests on; mostly nothing."""
        return self._pricer.links(work, devices)

    def rate(self, question: DeploymentQuestion) -> list[RatedDeployment]:
        """Every layout of the domain that fits, at every load.

        Raises:
            InputError: It is no model that is served token by token.
            MissingFactError: A fact of the model or the device is not known.
        """
        work = question.work
        open_ = list(candidates(question))
        prices = self._pricer.prices(work, open_)
        return [
            _rated(work, one, price)
            for one, price in zip(open_, prices, strict=True)
            if price is not None and one.concurrency < 2 * price.in_flight
        ]


def candidates(question: DeploymentQuestion) -> Iterator[Deployment]:
    """The deployments of a domain: tensors over all devices of an instance, with and without each switch.

    Replicas of attention share the load evenly, so there is no load below one request for each.
    """
    domain = question.domain
    loads = sorted({2.0**k for k in range(int(math.log2(domain.most_at_once)) + 1)} | {domain.most_at_once})
    frameworks = sorted(domain.frameworks, key=lambda name: (*ENGINES, name).index(name))
    for framework, count in itertools.product(frameworks, domain.counts):
        plain = ParallelLayout(tp=count)
        layouts = [plain]
        if question.has_experts and count > 1:
            layouts += [
                replace(plain, ep=count),
                replace(plain, ep=count, dp=count, dp_attention=True),
            ]
        for layout, drafts in itertools.product(layouts, (False, True) if domain.drafts else (False,)):
            here = [float(layout.dp)] if domain.role == PREFILL else loads  # a prompt after the other
            for load in sorted({layout.dp * (load // layout.dp) for load in here} - {0.0}):
                yield Deployment(
                    framework=framework,
                    version=domain.version,
                    layout=layout,
                    drafts=drafts,
                    concurrency=load,
                    role=domain.role,
                )


def _rated(work: Work, one: Deployment, price: DeploymentPrice) -> RatedDeployment:
    first_s = 0.0 if one.role == DECODE else price.ttft_s
    token_s = 0.0 if one.role == PREFILL else price.tpot_s
    request_s = first_s + work.output_len * token_s
    requests = price.in_flight / request_s  # Little's law
    if one.role == PREFILL:
        requests = price.prompts_per_s
    return RatedDeployment(
        deployment=replace(one, concurrency=min(one.concurrency, price.in_flight)),  # the others wait
        throughput=requests * work.output_len,
        requests_per_s=requests,
        tpot_s=token_s,
        ttft_s=first_s,
        latency_s=request_s,
        spread=price.spread,
        memory_bytes=price.memory_bytes,
        watts=price.watts,
    )
