"""A deployment: one instance of an engine that serves a model, with what it is expected to reach."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from kg.nouns.codec import Empty, JsonNoun, in_json
from kg.nouns.entities import Limit
from kg.nouns.layout import DEGREES, ParallelLayout
from recommender.cost_model.layout_domain import with_count
from recommender.cost_model.priced_step import PricedStep
from recommender.cost_model.question import Question
from recommender.cost_model.settings.plans import SERVING
from recommender.cost_model.workloads.memory_fit import USABLE_MEMORY
from recommender.ranking.layout_question import LayoutQuestion
from recommender.ranking.starts.layout_options import priced_options, replayed

PREFILL, DECODE = "prefill", "decode"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment(JsonNoun):
    """One instance that serves a model, with its load.

    Attributes:
        framework: Id of the engine.
        layout: How the work is divided.
        drafts: Whether tokens are drafted and verified.
        concurrency: Requests that it holds at once.
        role: ``"prefill"`` or ``"decode"`` where instances of their own do each; empty for both.
    """

    framework: str
    layout: ParallelLayout
    drafts: bool = False
    concurrency: float
    role: str = field(default="", metadata=in_json(empty=Empty.OMITTED))


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedDeployment:
    """A deployment with its price.

    Attributes:
        deployment: The deployment.
        step: The price of its step under its load; an error of it makes all times too long or too short.
        throughput: Output tokens a second of the instance; of prompts where nothing else is asked for.
        requests_per_s: Requests a second of the instance.
        tpot_s: Seconds for each output token of a request.
        ttft_s: Seconds to the first one where nobody waits.
        latency_s: Seconds to the last one, likewise.
    """

    deployment: Deployment
    step: PricedStep
    throughput: float
    requests_per_s: float
    tpot_s: float
    ttft_s: float
    latency_s: float

    @property
    def spread(self) -> float:
        """Standard deviation of the log of all of these times."""
        return self.step.spread

    @property
    def devices(self) -> int:
        """Devices of the instance."""
        return self.deployment.layout.devices


def rated_deployments(
    base: Question,
    framework: str,
    counts: Sequence[int],
    most_at_once: float,
    role: str = "",
    *,
    limits: tuple[Limit, ...] = (),
    usable: float = USABLE_MEMORY,
) -> Iterator[RatedDeployment]:
    """Instances of every size at every load that fit, priced as a plan prices them.

    Args:
        base: The decision for the question, whose settings all of them have.
        framework: Id of the engine.
        counts: Numbers of devices of one instance.
        most_at_once: Requests at once that one instance gets at most.
        role: What the instances do; empty for prefill and decode.
        limits: Bounds, of which those on memory are kept.
        usable: Share of the memory that a server fills.
    """
    open_ = {*DEGREES.values(), "batch", "concurrency"}
    kept = {name: value for name, value in base.settings.items() if name not in open_}
    hands_over = float(str(base.settings.get("output_len", SERVING["output_len"]))) > 1
    if role and hands_over:  # else nobody decodes, and no cache is moved
        kept["separation"] = "separate"
    loads = {2.0**k for k in range(int(math.log2(most_at_once)) + 1)} | {most_at_once}
    for count in counts:
        asked = LayoutQuestion(
            question=with_count(replace(base, settings=kept), count),
            objective="throughput",
            limits=limits,
            usable=usable,
            batch=1.0 if role == PREFILL else None,  # a prompt after the other in each engine
            loads=() if role == PREFILL else tuple(sorted(loads)),
        )
        options = [
            option
            for option in priced_options(asked)  # copies are instances of their own
            if option.log_merit is not None and not (option.layout.dp > 1 and option.layout.ep == 1)
        ]
        is_planned = count == base.machine.count  # the instance of the plan has the plan's price
        planned = [option for option in options if is_planned and option.layout.dp > 1]
        priced = dict(zip(map(id, planned), replayed(asked, planned), strict=True))
        for option in options:
            step = priced.get(id(option), option)
            rated = _rated(asked.question, framework, step, role)
            if rated.deployment.concurrency <= most_at_once:  # a batch is of one of its engines
                yield rated


def _rated(question: Question, framework: str, option: PricedStep, role: str) -> RatedDeployment:
    """A priced layout as an instance under its load."""
    results, layout = option.results, option.layout
    prompt, answer = (
        float(str(question.settings.get(name, SERVING[name]))) for name in ("input_len", "output_len")
    )
    at_once = float(str(option.settings["batch"])) * layout.dp
    first_s = 0.0 if role == DECODE else results["first_s"]
    token_s = 0.0 if role == PREFILL else results["tpot_s"]
    request_s = first_s + answer * token_s
    requests = results["throughput"] / answer
    if role == PREFILL:
        requests = results["prefill_throughput"] / prompt
    elif role == DECODE:
        requests = at_once / request_s
    if layout.dp > 1:  # replicas of the attention alone, in one instance
        layout = replace(layout, tp=layout.tp * layout.dp, dp_attention=True)
    return RatedDeployment(
        deployment=Deployment(framework=framework, layout=layout, concurrency=at_once, role=role),
        step=option,
        throughput=requests * (prompt if role == PREFILL and answer <= 1 else answer),
        requests_per_s=requests,
        tpot_s=token_s,
        ttft_s=first_s,
        latency_s=request_s,
    )
