"""Devices for a rate of requests: deployments side by side, with their cost and energy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from kg.errors import InfeasibleError, InputError
from kg.nouns.codec import JsonNoun, four_digits, in_json
from kg.nouns.entities import Limit, Problem
from kg.nouns.gain import NORMAL_90
from kg.nouns.situation import StatedFact
from kg.terms.metrics import PERCENTILES
from recommender.cost_model.assumed import LENGTHS
from recommender.cost_model.question import Question
from recommender.cost_model.settings.plans import SERVING
from recommender.ranking.deployments.deployment import DECODE, PREFILL, RatedDeployment, rated_deployments
from recommender.ranking.deployments.disaggregation import MOST_AT_ONCE, separates
from recommender.ranking.deployments.fleet import INSTANCES, Fleet, fewest
from recommender.ranking.starts.layout_choice import SERVER
from recommender.ranking.starts.starts import Starts
from recommender.search.engine.pareto import non_dominated

LIKELY = 0.9
"""Chance that the devices for a rate serve it within the limits; a choice."""
FAR_MORE = 4
"""Times the fewest devices beyond which a deployment is no choice beside it, however fast; a choice."""
LEAST_CHANCE = 0.5
"""A deployment is offered that keeps the limits at least as likely as not."""
_MOVED = "prefill and decode on instances apart; caches move over the network between servers"
_CHECKED = frozenset({"tpot", "ttft", "latency", *(f"tpot_{end}" for end in PERCENTILES)})


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityOption:
    """Instances of one deployment.

    Attributes:
        fleet: The instances.
        chance: That they serve the rate, if one is stated, within the limits.
        even_devices: Devices that do as likely as not.
        price_per_million: For a million output tokens at that rate; None without a price.
        prefill: Instances ahead that only prefill; None where ``fleet`` does both.
    """

    fleet: Fleet
    chance: float
    even_devices: int
    price_per_million: float | None = None
    prefill: Fleet | None = None

    @classmethod
    def of_fleet(cls, fleet: Fleet, limits: Sequence[Limit]) -> CapacityOption:
        """Instances that do both, as they are."""
        return cls(fleet=fleet, chance=fleet.chance(limits), even_devices=fleet.devices)

    @property
    def is_short(self) -> bool:
        """True if more requests come than it answers."""
        return self.fleet.load() >= 1

    @property
    def rated(self) -> RatedDeployment:
        """One of the instances."""
        return self.fleet.rated

    @property
    def devices(self) -> int:
        """Devices of all instances."""
        return self.fleet.devices + (self.prefill.devices if self.prefill is not None else 0)

    @property
    def times(self) -> dict[str, float]:
        """Seconds by the metric of a limit; a request waits for either kind of instance."""
        times = self.fleet.times()
        ahead = self.prefill.times() if self.prefill is not None else {}
        return {
            name: value + (0.0 if name.startswith("tpot") else ahead.get(name, 0.0))
            for name, value in times.items()
        }

    @property
    def throughput_per_device(self) -> float:
        """Output tokens a second of all instances under full load, over all their devices."""
        ahead = () if self.prefill is None else (self.prefill,)
        pace: float = min(one.rated.requests_per_s * one.instances for one in (self.fleet, *ahead))
        return pace * self.rated.throughput / self.rated.requests_per_s / self.devices

    @property
    def watt_hours_per_million(self) -> float | None:
        """Watt-hours for a million output tokens under full load; None where a power is not known."""
        fleets = (self.fleet,) if self.prefill is None else (self.fleet, self.prefill)
        watts = [(one.rated.step.power_w, one.devices) for one in fleets]
        if any(power is None for power, _ in watts):
            return None
        used = sum((power or 0.0) * devices for power, devices in watts)
        return used / (self.throughput_per_device * self.devices) / 3600 * 1e6

    @property
    def is_likely(self) -> bool:
        """True if the chance is at least ``LIKELY``, the chance that a number of devices must reach."""
        return self.chance >= LIKELY - 1e-6

    def cells(self) -> tuple[str, ...]:
        """Cells of its row in a table of deployments."""
        rated, one = self.rated, self.rated.deployment
        drafts = ", drafts" if one.drafts else ""
        return (
            f"{self.fleet.instances} x {one.framework} {one.layout}{drafts}",
            str(self.devices),
            f"{self.throughput_per_device:.4g}",
            f"{1e3 * rated.tpot_s:.3g} ms",
            f"{1e3 * self.times['ttft']:.3g} ms",
            f"{self.chance:.0%}",
        )

    def to_json(self) -> dict[str, Any]:
        """Plain content."""
        rated, times, ahead = self.rated, self.times, self.prefill
        low, high = (math.exp(sign * NORMAL_90 * rated.spread) for sign in (-1, 1))
        return {
            **rated.deployment.to_json(),
            "instances": self.fleet.instances,
            **(
                {}
                if ahead is None
                else {"prefill": {**ahead.rated.deployment.to_json(), "instances": ahead.instances}}
            ),
            "devices": self.devices,
            "even_devices": self.even_devices,
            "requests_per_s": four_digits(rated.requests_per_s * self.fleet.instances),
            "throughput_per_device": four_digits(self.throughput_per_device),
            "tpot_s": {
                "value": four_digits(rated.tpot_s), "low": four_digits(rated.tpot_s * low),
                "high": four_digits(rated.tpot_s * high),
            },
            "ttft_s": four_digits(times["ttft"]),
            "ttft_p99_s": four_digits(times["ttft_p99"]) if self.fleet.rate_per_s else None,
            "chance": round(self.chance, 3),
            "tier": "modelled",
            "price_per_million_tokens": four_digits(self.price_per_million),
            "watt_hours_per_million_tokens": four_digits(self.watt_hours_per_million),
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity(JsonNoun):
    """The answer.

    Attributes:
        options: What keeps the limits: with a rate the likely ones first, fewest devices first; else the
            undominated.
        nearest: What comes nearest where nothing does.
        unchecked: Limits that were not looked at.
        notes: What limits it.
        assumed: What is assumed where the question is silent.
    """

    options: tuple[CapacityOption, ...]
    nearest: CapacityOption | None
    unchecked: tuple[Limit, ...] = field(
        metadata=in_json(write=lambda limits: [f"{one.metric}<={one.maximum:g}{one.unit}" for one in limits])
    )
    notes: tuple[str, ...]
    assumed: tuple[StatedFact, ...] = ()

    def __str__(self) -> str:
        return "\n".join("  ".join(item.cells()) for item in self.options)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRequest:
    """A request for a capacity, beside the problem.

    Attributes:
        rate_per_s: Requests a second; None for one instance of each deployment.
        price_per_hour: Of a device; None without one.
    """

    rate_per_s: float | None = None
    price_per_hour: float | None = None


def capacity(
    problem: Problem, request: CapacityRequest, starts: Starts, *, notes: Sequence[str] = ()
) -> Capacity:
    """The devices that a rate needs, or the deployments of which none is worse than another in everything.

    Args:
        problem: Model, device, lengths and limits; its ``count`` bounds the devices of an instance.
        request: Rate and price.
        starts: The decision for the question: all that the question leaves open is as there.
        notes: What was said so far.

    Raises:
        InputError: It is no serving of a model token by token, or a length is not stated.
        InfeasibleError: None fits the memory; the hint has the smallest that does.
        MissingFactError: A fact of the model or the device is not known.
    """
    base = starts.question
    if base is None:
        raise _unpriced(problem, starts)
    _check(problem, base)
    most = problem.hardware.count or max(SERVER, base.machine.count)
    checked = (
        _CHECKED
        if request.rate_per_s is None
        else _CHECKED.union(f"{time}_{end}" for time in ("ttft", "latency") for end in PERCENTILES)
    )
    limits = tuple(item for item in problem.limits if item.metric in checked)
    rate = partial(
        rated_deployments,
        base,
        starts.situation.framework.id,
        [size for size in range(1, most + 1) if most % size == 0],
        starts.situation.at_once or max(MOST_AT_ONCE, _load_of(base)),
    )
    said = (*notes, *starts.notes)
    assumed = tuple(fact for fact in starts.assumed if fact.name not in {"traits.concurrency", "count"})
    prefills = float(str(base.settings.get("output_len", SERVING["output_len"]))) <= 1
    is_told = False if prefills else problem.workload.traits.get("disaggregated")
    apart: list[CapacityOption] = []
    if is_told is None:
        is_told = None if separates(starts.situation.framework.id, base) else False
    if request.rate_per_s is not None and is_told is not False:
        apart = _apart(request, rate, limits)
        said = (*said, _MOVED) if apart else said
    rated = [] if apart and is_told else list(rate(role=PREFILL if prefills else ""))
    options = [item for one in rated if (item := _option(one, request, limits)) is not None]
    options += [item for item in apart if item.chance >= LEAST_CHANCE]
    chosen = _fewest(options) if request.rate_per_s is not None else _undominated(options)
    nearest = [*(CapacityOption.of_fleet(_nearest(one, request, limits), limits) for one in rated), *apart]
    return Capacity(
        options=tuple(chosen),
        nearest=None
        if chosen
        else max(
            nearest,
            key=lambda one: (one.is_short, one.chance, -one.fleet.load(), -one.rated.tpot_s),
            default=None,
        ),
        unchecked=tuple(item for item in problem.limits if item.metric not in checked),
        notes=tuple(dict.fromkeys(said)),
        assumed=assumed,
    )


def _nearest(one: RatedDeployment, request: CapacityRequest, limits: Sequence[Limit]) -> Fleet:
    """An instance without load; where that keeps the limits, as many as are looked for under the rate."""
    fleet = Fleet(rated=one)
    if request.rate_per_s is None or fleet.chance(limits) < LEAST_CHANCE:
        return fleet
    return replace(fleet, instances=INSTANCES, rate_per_s=request.rate_per_s)


def _load_of(base: Question) -> float:
    """Requests at once of the decision."""
    batch, engines = base.settings.get("batch", 1), base.settings.get("data_parallel", 1)
    return float(str(batch)) * float(str(engines))


def _unpriced(problem: Problem, starts: Starts) -> InfeasibleError | InputError:
    """The fault of a question whose decision has no price: it does not fit, or is not modelled."""
    start = starts.first
    if start.fits is False:
        count = problem.hardware.count or 1
        return InfeasibleError(
            f"{problem.workload.model} does not fit on {count} x {problem.hardware.name}"
            + (f": {start.because[0]}" if start.because else ""),
            hint=f"the smallest that does: {start.layout}, {start.layout.devices} devices; --count N"
            if start.layout is not None
            else "",
        )
    return InputError(f"{problem.workload.model} has no price here: {'; '.join(starts.notes) or 'no layout'}")


def _apart(
    request: CapacityRequest, rate_of: Callable[..., Iterator[RatedDeployment]], limits: Sequence[Limit]
) -> list[CapacityOption]:
    """Instances that only prefill ahead of others that only decode: the fewest of each for the rate.

    Both have one error, that of the estimate, so the chance is that of the less likely ones.
    """
    rated = {role: list(rate_of(role=role)) for role in (PREFILL, DECODE)}

    def sized(role: str, chance: float) -> list[Fleet]:
        mine = [limit for limit in limits if (limit.metric == "tpot") == (role == DECODE)]
        fleets = (fewest(one, request.rate_per_s or 0.0, mine, chance) for one in rated[role])
        return [fleet for fleet in fleets if fleet is not None]

    options: list[CapacityOption] = []
    for chance in (LIKELY, LEAST_CHANCE):
        ahead = min(sized(PREFILL, chance), key=lambda one: (one.devices, one.rated.ttft_s), default=None)
        behind = sized(DECODE, chance) if ahead is not None else []
        options += [_behind(fleet, ahead, request, limits) for fleet in behind]
    even = min((one.devices for one in options if one.chance >= LEAST_CHANCE), default=0)
    likely = [one for one in options if one.is_likely]
    return [replace(one, even_devices=even) for one in likely or options]


def _behind(
    fleet: Fleet, ahead: Fleet | None, request: CapacityRequest, limits: Sequence[Limit]
) -> CapacityOption:
    """Instances that decode, with those that prefill ahead of them."""
    option = CapacityOption(fleet=fleet, chance=0.0, even_devices=0, prefill=ahead)
    first = [limit for limit in limits if limit.metric != "tpot"]
    chance = min(fleet.chance([limit for limit in limits if limit.metric == "tpot"]),
                 1.0 if ahead is None else ahead.chance(first))  # fmt: skip
    if any(option.times[limit.metric] > limit.maximum for limit in limits):
        chance = min(chance, 0.0)
    price = None
    if request.price_per_hour is not None and request.rate_per_s:
        tokens = request.rate_per_s * fleet.rated.throughput / fleet.rated.requests_per_s
        price = request.price_per_hour * option.devices / tokens / 3600 * 1e6
    return replace(option, chance=chance, price_per_million=price)


def _check(problem: Problem, base: Question) -> None:
    """Refuse what is no serving of a model token by token."""
    work = problem.workload
    if work.model and str(work.kind) == "serving" and not base.model.causal:
        raise InputError(
            f"--rate and --pareto are for models that write token by token, {work.model} answers in one pass",
            hint="tunegraph recommend says what one instance takes in a second: divide the rate by that",
        )
    if not work.model or str(work.kind) != "serving":
        raise InputError("--rate and --pareto are for serving a model", hint="--model NAME --phase serving")
    lengths = {name: float(str(base.settings.get(name, SERVING[name]))) for name in LENGTHS}
    if wrong := [name for name, size in lengths.items() if size < 1]:
        raise InputError(f"{wrong[0]}: {lengths[wrong[0]]:g} tokens", hint=f"--shape {wrong[0]}=1024")


def _option(one: RatedDeployment, request: CapacityRequest, limits: Sequence[Limit]) -> CapacityOption | None:
    """The number of instances likely to serve the rate within the limits, or as likely as not; else None."""
    rate = request.rate_per_s
    if rate is None:
        even = fleet = Fleet(rated=one)
        chance = fleet.chance(limits)
        if chance < LEAST_CHANCE:
            return None
    else:
        sized = fewest(one, rate, limits, LEAST_CHANCE)
        if sized is None:
            return None
        even = sized
        fleet = fewest(one, rate, limits, LIKELY) or even
        chance = fleet.chance(limits)
    price = None
    if request.price_per_hour is not None:
        tokens = one.throughput if rate is None else rate * one.throughput / one.requests_per_s
        price = request.price_per_hour * fleet.devices / tokens / 3600 * 1e6  # who waits is paid for as well
    return CapacityOption(fleet=fleet, chance=chance, even_devices=even.devices, price_per_million=price)


def _fewest(options: Sequence[CapacityOption]) -> list[CapacityOption]:
    """Options that no other beats in devices and times at once: likely ones first, then fewest devices."""
    if not options:
        return []
    least = min(options, key=lambda one: (not one.is_likely, one.devices))
    options = [one for one in options if one.devices <= FAR_MORE * least.devices]
    costs = [
        (float(not item.is_likely), float(item.devices), item.rated.tpot_s, item.times["ttft"])
        for item in options
    ]
    kept = [item for item, holds in zip(options, non_dominated(np.array(costs)), strict=True) if holds]
    best: dict[object, CapacityOption] = {}
    for item in sorted(kept, key=lambda one: (not one.is_likely, one.devices, one.rated.tpot_s)):
        best.setdefault((item.prefill is not None, item.rated.deployment.layout), item)
    return list(best.values())


def _undominated(options: Sequence[CapacityOption]) -> list[CapacityOption]:
    """Options that no other beats in throughput of a device, token time and devices at once."""
    costs = [
        (-item.rated.throughput / item.devices, item.rated.tpot_s, float(item.devices)) for item in options
    ]
    kept = [place for place, holds in enumerate(non_dominated(np.array(costs))) if holds]
    best: dict[tuple[float, ...], CapacityOption] = {}
    for place in sorted(kept, key=lambda at: (costs[at], options[at].rated.deployment.concurrency)):
        best.setdefault(costs[place], options[place])
    return list(best.values())
