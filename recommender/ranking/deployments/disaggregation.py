"""Prefill and decode apart on the devices of a question: engines of either role, and what they reach."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product

from kg.nouns.codec import JsonNoun, four_digits, in_json
from kg.nouns.entities import Limit, Problem
from kg.nouns.gain import NORMAL_90
from kg.nouns.values import Settings
from kg.terms.dialects import statement
from kg.terms.meanings import table
from kg.terms.metrics import PERCENTILES, priced_as
from recommender.cost_model.change import modelled_gain
from recommender.cost_model.machine import NETWORK_FACTS
from recommender.cost_model.question import Question
from recommender.cost_model.workloads.memory_fit import USABLE_MEMORY
from recommender.ranking.change import LEAST_LOG_GAIN, Change, Support, recommendation_id
from recommender.ranking.deployments.deployment import DECODE, PREFILL, RatedDeployment, rated_deployments
from recommender.ranking.layout_question import LIMITED
from recommender.ranking.start import ExpectedValue
from recommender.ranking.starts.starts import Starts

MOST_AT_ONCE = 256.0
"""Requests at once of an instance where none are stated: vLLM's default of --max-num-seqs (0.8)."""
_LIMITED = {"ttft": "ttft", "tpot": "tpot", **dict.fromkeys((f"tpot_{end}" for end in PERCENTILES), "tpot")}
"""Time by metric of a limit: all tokens take as long, and the tail of the first is not modelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentTerms:
    """Terms that all engines share, whether they do both roles or are apart.

    Attributes:
        base: The decision for the question, whose settings all engines have.
        program: Id of the engine.
        limits: Bounds on the times of a request, and on memory.
        at_once: Requests at once; None for as many as the limits let in.
        usable: Share of the memory that a server fills.
    """

    base: Question
    program: str
    limits: tuple[Limit, ...] = ()
    at_once: float | None = None
    usable: float = USABLE_MEMORY

    @classmethod
    def of(cls, problem: Problem, starts: Starts) -> DeploymentTerms | None:
        """The terms of a question's start: its load too, unless limits on times alone decide it."""
        base, price = starts.question, starts.price
        if base is None or price is None:
            return None
        at_once = starts.situation.at_once
        if at_once is None and not any(limit.metric in LIMITED for limit in problem.limits):
            at_once = float(str(price.settings.get("batch", 1))) * price.layout.dp
        program = starts.situation.framework.id
        share = statement(starts.situation.current or {}, program).facts.get("memory_share", USABLE_MEMORY)
        return cls(
            base=base,
            program=program,
            limits=problem.limits,
            at_once=at_once,
            usable=min(float(str(share)), 1.0),
        )

    def rated(self, most_devices: int, role: str = "") -> Iterator[RatedDeployment]:
        """Instances for a role on divisors of all devices, and on powers of two, up to so many."""
        devices = self.base.machine.count
        counts = [size for size in range(1, most_devices + 1) if devices % size == 0 or not size & (size - 1)]
        most = min(self.at_once or math.inf, MOST_AT_ONCE)
        yield from rated_deployments(
            self.base, self.program, counts, most, role, limits=self.limits, usable=self.usable
        )

    def allow(self, ttft_s: float, tpot_s: float) -> bool:
        """True if times of a request are within the limits."""
        times = {"ttft": ttft_s, "tpot": tpot_s}
        return all(
            times[_LIMITED[item.metric]] <= item.maximum for item in self.limits if item.metric in _LIMITED
        )


def separates(program: str, base: Question) -> bool:
    """True if a program has engines of either role, and moves of caches between servers can be priced."""
    roles = table("launches")["programs"].get(program, {}).get("roles")
    return bool(roles) and bool(NETWORK_FACTS & base.machine.network.facts.keys())


@dataclass(frozen=True, slots=True, kw_only=True)
class Disaggregation(JsonNoun):
    """Engines that only prefill ahead of engines that only decode.

    Attributes:
        prefill: One engine that prefills.
        prefills: How many of them.
        decode: One engine that decodes.
        decodes: How many of them.
        at_once: Requests under way at once.
        requests_per_s: Requests a second of all.
        throughput: Output tokens a second of all.
        ttft_s: Seconds to the first token of a request, with its wait and the move of its cache.
        transfer_s: Of them the move of the cache.
    """

    prefill: RatedDeployment = field(metadata=in_json(write=lambda one: one.deployment.to_json()))
    prefills: int
    decode: RatedDeployment = field(metadata=in_json(write=lambda one: one.deployment.to_json()))
    decodes: int
    at_once: float
    requests_per_s: float = field(metadata=in_json(write=four_digits))
    throughput: float = field(metadata=in_json(write=four_digits))
    ttft_s: float = field(metadata=in_json(write=four_digits))
    transfer_s: float = field(metadata=in_json(write=four_digits))

    @property
    def devices(self) -> int:
        """Devices of all engines."""
        return self.prefills * self.prefill.devices + self.decodes * self.decode.devices

    @property
    def expected(self) -> tuple[ExpectedValue, ...]:
        """Its throughput, and the times of a request."""
        factor = math.exp(NORMAL_90 * max(self.prefill.spread, self.decode.spread))
        values = {"throughput": self.throughput, "tpot": self.decode.tpot_s, "ttft": self.ttft_s}
        return tuple(
            ExpectedValue(metric=name, unit="tokens/s" if name == "throughput" else "s", value=value,
                          low=value / factor, high=value * factor, tier="modelled")
            for name, value in values.items()
        )  # fmt: skip

    def __str__(self) -> str:
        both = ((self.prefills, self.prefill), (self.decodes, self.decode))
        times = (f"{count} x " if count > 1 else "" for count, _ in both)
        parts = (f"{one.deployment.layout} to {one.deployment.role}" for _, one in both)
        return " and ".join(map("".join, zip(times, parts, strict=True)))


def beside(problem: Problem, starts: Starts) -> Disaggregation | None:
    """Prefill and decode apart on the devices of the start of a question; None where it is not priced.

    Where requests would wait for engines that decode, the two do not compare: the start holds all of its own.
    """
    terms = DeploymentTerms.of(problem, starts)
    told = problem.workload.traits.get("disaggregated")
    limited = {limit.metric for limit in problem.limits} & LIMITED.keys()
    if terms is None or starts.situation.is_training or told is False or limited - _LIMITED.keys():
        return None
    base = terms.base
    is_mixed = starts.situation.phase == "serving" and base.settings.get("separation", "mixed") == "mixed"
    if not (is_mixed and base.model.causal and separates(terms.program, base)):
        return None
    if priced_as(problem.objective, problem.workload.kind) != "throughput":
        return None
    found = best_disaggregation(terms)
    holds = found is not None and found.decodes * found.decode.deployment.concurrency >= found.at_once
    return found if holds else None


def separation_change(problem: Problem, starts: Starts, apart: Disaggregation, version: str) -> Change | None:
    """Prefill and decode apart as a change; None where it is not modelled to be clearly faster.

    Than the start, and than engines that do both and are divided as freely: what another layout wins is no
    gain of the separation.
    """
    terms, price = DeploymentTerms.of(problem, starts), starts.price
    if terms is None or price is None:
        return None
    before = max(price.throughput, fastest_of_both(terms))
    log_gain = math.log(apart.throughput / before)
    if log_gain < LEAST_LOG_GAIN:
        return None
    gain = modelled_gain(log_gain)
    says = f"engines that do both are priced to reach {before:,.0f} tokens/s, however they are divided"
    why = Support(kind="modelled", says=f"{says}; moving a cache takes {apart.transfer_s:.2g} s")
    return Change(
        id=recommendation_id(problem, Settings(), version, "disaggregation"),
        title=f"Prefill and decode apart, {apart}",
        how="--trait disaggregated=true --write-dir DIR writes the files of both",
        gain=gain,
        basis="modelled",
        tier="modelled",
        evidence=(why,),
        order=(False, False, False, -gain.expected, 0.0, 0.0, False, 0),
    )


def best_disaggregation(terms: DeploymentTerms) -> Disaggregation | None:
    """The fastest engines of either role within the limits of a question; None if there are none.

    Requests come in a closed loop: as many are under way as the engines that decode hold, or as are told.
    """
    devices = terms.base.machine.count
    rated = {role: _telling(terms.rated(devices - 1, role)) for role in (PREFILL, DECODE)}
    found = (
        one
        for prefill, decode in product(rated[PREFILL], rated[DECODE])
        for one in _ratios(prefill, decode, devices, terms.at_once)
        if terms.allow(one.ttft_s, one.decode.tpot_s)
    )
    return max(found, key=lambda one: (one.throughput, -one.devices), default=None)


def fastest_of_both(terms: DeploymentTerms) -> float:
    """Output tokens a second of engines that do both, none of whose requests waits; 0 if there are none."""
    devices, fastest = terms.base.machine.count, 0.0
    for one in terms.rated(devices):
        copies = devices // one.devices
        seats = copies * one.deployment.concurrency
        users = terms.at_once or seats
        if users <= seats and terms.allow(one.ttft_s, one.tpot_s):
            fastest = max(fastest, copies * one.throughput * users / seats)
    return fastest


def _telling(rated: Iterable[RatedDeployment]) -> list[RatedDeployment]:
    """The best of each number of devices and load: the one with most requests, and the first to answer."""
    best: dict[tuple[int, float, bool], tuple[float, RatedDeployment]] = {}
    for one in rated:
        for by_time, merit in ((False, one.requests_per_s), (True, -one.ttft_s - one.tpot_s)):
            place = (one.devices, one.deployment.concurrency, by_time)
            if place not in best or merit > best[place][0]:
                best[place] = (merit, one)
    return list({id(one): one for _, one in best.values()}.values())


def _ratios(
    prefill: RatedDeployment, decode: RatedDeployment, devices: int, at_once: float | None
) -> Iterator[Disaggregation]:
    """Engines of either role in the numbers around the balance of their rates."""
    most = (devices - decode.devices) // prefill.devices
    one, other = prefill.requests_per_s, decode.requests_per_s
    balance = devices * other / (prefill.devices * other + decode.devices * one)
    for ahead in {min(max(size, 1), most) for size in (math.floor(balance), math.ceil(balance))}:
        if ahead < 1:
            continue
        behind = (devices - ahead * prefill.devices) // decode.devices
        yield _together(prefill, ahead, decode, behind, at_once)


def _together(
    prefill: RatedDeployment, ahead: int, decode: RatedDeployment, behind: int, at_once: float | None
) -> Disaggregation:
    """Performance of so many engines of each role: the slower sets the pace, by Little's law."""
    answer = decode.throughput / decode.requests_per_s
    seats = decode.deployment.concurrency * behind
    users = at_once or seats
    decoding_s = answer * decode.tpot_s
    pace = min(
        ahead * prefill.requests_per_s, min(users, seats) / decoding_s, users / (prefill.ttft_s + decoding_s)
    )
    return Disaggregation(
        prefill=prefill,
        prefills=ahead,
        decode=decode,
        decodes=behind,
        at_once=users,
        requests_per_s=pace,
        throughput=pace * answer,
        ttft_s=users / pace - decoding_s,
        transfer_s=prefill.step.results["kv_transfer_s"],
    )
