"""How many devices a rate of requests needs: deployments side by side, with their cost and energy."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kg.errors import InfeasibleError, InputError, MissingFactError
from recommender.ranking.deployments.deployment import DeploymentDomain, framework_id
from recommender.ranking.deployments.deployments import DeploymentQuestion, Deployments
from recommender.ranking.deployments.served_cases import Work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kg.nouns.entities import Limit, Problem
    from recommender.ranking.deployments.deployment import RatedDeployment

MOST_AT_ONCE = 256.0
"""Requests at once of an instance where none are stated: vLLM's default of --max-num-seqs (0.8)."""
SERVER = 8
"""Devices of an instance at most where their number is not stated: those of a usual server."""
LARGEST = 1024
"""Devices of an instance up to which the smallest that holds a model is looked for."""
INSTANCES = 4096
"""Instances at most."""
LEAST_CHANCE = 0.5
"""A deployment is offered that keeps the limits at least as likely as not."""
_CHECKED = frozenset({"tpot", "ttft", "ttft_p99", "latency"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityOption:
    """Instances of one deployment.

    Attributes:
        rated: One of them.
        instances: Their number.
        ttft_p99_s: 99 % of the first tokens come sooner; infinite where no rate is stated.
        price_per_million: For a million output tokens at that rate; None without a price.
    """

    rated: RatedDeployment
    instances: int
    ttft_p99_s: float
    price_per_million: float | None

    @property
    def devices(self) -> int:
        """Devices of all instances."""
        return self.rated.devices * self.instances

    def to_json(self) -> dict[str, Any]:
        """Plain content."""
        rated = self.rated
        low, high = (math.exp(sign * 1.6449 * rated.spread) for sign in (-1, 1))
        return {
            **rated.deployment.to_json(),
            "instances": self.instances,
            "devices": self.devices,
            "requests_per_s": _short(rated.requests_per_s * self.instances),
            "throughput_per_device": _short(rated.throughput / rated.devices),
            "tpot_s": {
                "value": _short(rated.tpot_s), "low": _short(rated.tpot_s * low),
                "high": _short(rated.tpot_s * high),
            },
            "ttft_s": _short(rated.ttft_s),
            "ttft_p99_s": _short(self.ttft_p99_s) if math.isfinite(self.ttft_p99_s) else None,
            "chance": round(rated.chance, 3),
            "tier": "measured elsewhere" if rated.near else "modelled",
            "measured_rows": rated.near,
            "price_per_million_tokens": _maybe(self.price_per_million),
            "watt_hours_per_million_tokens": _maybe(rated.watt_hours_per_million),
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """The answer.

    Attributes:
        options: What keeps the limits: with a rate the fewest devices first, else the undominated.
        nearest: What comes nearest where nothing does.
        unchecked: Limits that were not looked at.
        notes: What was assumed.
    """

    options: tuple[CapacityOption, ...]
    nearest: CapacityOption | None
    unchecked: tuple[Limit, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain content."""
        return {
            "options": [item.to_json() for item in self.options],
            "nearest": None if self.nearest is None else self.nearest.to_json(),
            "unchecked": [f"{item.metric}<={item.maximum:g}{item.unit}" for item in self.unchecked],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRequest:
    """What is asked beside the problem.

    Attributes:
        rate_per_s: Requests a second; None for one instance of each deployment.
        price_per_hour: Of a device; None without one.
    """

    rate_per_s: float | None = None
    price_per_hour: float | None = None


def capacity(
    problem: Problem,
    request: CapacityRequest,
    deployments: Deployments,
    *,
    framework: str,
    has_experts: bool,
    notes: Sequence[str] = (),
) -> Capacity:
    """The devices that a rate needs, or the deployments of which none is worse than another in everything.

    Args:
        problem: Model, device, lengths and limits; its ``count`` bounds the devices of an instance.
        request: Rate and price.
        deployments: Rates deployments.
        framework: Id of the engine.
        has_experts: Whether the model has experts to spread.
        notes: What was assumed so far.

    Raises:
        InputError: It is no serving of a model, or a length is not stated.
        InfeasibleError: None fits the memory; the hint has the smallest that does.
        MissingFactError: No deployment can be priced.
    """
    work, told = _work(problem)
    most, at_once = problem.hardware.count or SERVER, problem.workload.traits.get("concurrency")
    limit = float(at_once) if isinstance(at_once, int | float) and at_once >= 1 else MOST_AT_ONCE
    question = DeploymentQuestion(
        work=work,
        domain=DeploymentDomain(
            frameworks=(framework_id(framework),),
            counts=tuple(size for size in range(1, most + 1) if most % size == 0),
            most_at_once=limit,
        ),
        limits=tuple(item for item in problem.limits if item.metric in _CHECKED - {"ttft_p99"}),
        has_experts=has_experts,
    )
    rated = deployments.rate_all(question)
    if not rated:
        raise _unfit(question, most, deployments)
    options = [_option(one, request, problem.limits) for one in rated]
    kept = [item for item in options if item is not None and item.rated.chance >= LEAST_CHANCE]
    chosen = _fewest(kept) if request.rate_per_s is not None else _undominated(kept)
    nearest = max(rated, key=lambda one: (one.chance, -one.tpot_s))
    return Capacity(
        options=tuple(chosen),
        nearest=None
        if chosen
        else CapacityOption(rated=nearest, instances=1, ttft_p99_s=math.inf, price_per_million=None),
        unchecked=tuple(item for item in problem.limits if item.metric not in _CHECKED),
        notes=(*notes, *told),
    )


def _unfit(
    question: DeploymentQuestion, most: int, deployments: Deployments
) -> InfeasibleError | MissingFactError:
    """The fault of a domain without a single price: the fewest devices that hold the model, if any do."""
    what = f"{question.work.model} in {question.work.precision}"
    for size in (2**power for power in range(most.bit_length(), LARGEST.bit_length())):
        domain = replace(question.domain, counts=(size,))
        if found := deployments.rate_all(replace(question, domain=domain)):
            return InfeasibleError(
                f"{what} does not fit on {most} x {question.work.device}",
                hint=f"the smallest that does: {found[0].deployment.layout}, {size} devices; --count {size}",
            )
    return MissingFactError(
        f"no layout of {what} on {question.work.device} can be priced",
        hint="facts of the model or the device are missing: tunegraph estimate names them",
    )


def _work(problem: Problem) -> tuple[Work, tuple[str, ...]]:
    work = problem.workload
    lengths = [work.shape.get(name) for name in ("input_len", "output_len")]
    if not work.model or str(work.kind) != "serving":
        raise InputError("--rate and --pareto are for serving a model", hint="--model NAME --phase serving")
    if not all(isinstance(item, int | float) and item >= 1 for item in lengths):
        raise InputError("input_len, output_len: not stated", hint="--shape input_len=1024,output_len=256")
    notes = () if work.precision else ("weights in bfloat16 are assumed; --precision NAME says otherwise",)
    return Work(
        device=problem.hardware.name,
        model=work.model,
        precision=work.precision or "bfloat16",
        input_len=float(str(lengths[0])),
        output_len=float(str(lengths[1])),
    ), notes


def _option(one: RatedDeployment, request: CapacityRequest, limits: Sequence[Limit]) -> CapacityOption | None:
    """As many instances as the rate and a limit on the slowest first tokens need; None if none are enough."""
    instances, tail = 1, math.inf
    if request.rate_per_s is not None:
        instances = math.ceil(request.rate_per_s / one.requests_per_s)
        bound = next((item.maximum for item in limits if item.metric == "ttft_p99"), math.inf)
        while (tail := _first_token_tail(one, request.rate_per_s / instances)) > bound:
            instances += max(1, instances // 16)
            if instances > INSTANCES or one.ttft_s > bound:
                return None
    price = None
    if request.price_per_hour is not None:
        used = one.throughput
        if request.rate_per_s is not None:  # instances that wait are paid for as well
            used = min(used, request.rate_per_s / instances * one.throughput / one.requests_per_s)
        price = request.price_per_hour * one.devices / used / 3600 * 1e6
    return CapacityOption(rated=one, instances=instances, ttft_p99_s=tail, price_per_million=price)


def _first_token_tail(one: RatedDeployment, rate_per_s: float) -> float:
    """99th percentile of the time to the first token, prefills one after the other.

    Mean wait by Pollaczek and Khinchine for equal prefills, its tail exponential.
    """
    load = rate_per_s * one.ttft_s
    if load >= 1:
        return math.inf
    wait = load / (2 * (1 - load)) * one.ttft_s
    return one.ttft_s + wait * math.log(max(100 * load, 1.0)) / max(load, 1e-9)


def _fewest(options: Sequence[CapacityOption]) -> list[CapacityOption]:
    """One for each layout, the fewest devices first; of as many, the one with the shortest token time."""
    best: dict[object, CapacityOption] = {}
    for item in sorted(options, key=lambda one: (one.devices, one.rated.tpot_s)):
        best.setdefault(item.rated.deployment.layout, item)
    return list(best.values())


def _undominated(options: Sequence[CapacityOption]) -> list[CapacityOption]:
    """Those that no other beats in throughput of a device, token time and devices at once."""

    def merits(item: CapacityOption) -> tuple[float, float, float]:
        rated = item.rated
        return (rated.throughput / rated.devices, -rated.tpot_s, -rated.devices)

    def beaten(item: CapacityOption) -> bool:
        mine = merits(item)
        return any(
            ((theirs := merits(other)) != mine and all(a >= b for a, b in zip(theirs, mine, strict=True)))
            or (theirs == mine and other.rated.deployment.concurrency < item.rated.deployment.concurrency)
            for other in options
        )

    kept = [item for item in options if not beaten(item)]
    return sorted(kept, key=lambda item: -item.rated.throughput / item.rated.devices)


def _maybe(value: float | None) -> float | None:
    return None if value is None else _short(value)


def _short(value: float) -> float:
    return float(f"{value:.4g}")
