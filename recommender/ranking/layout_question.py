"""The question that layouts answer, and the loads that each layout is tried with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from kg.nouns.entities import Limit
from kg.terms.metrics import PERCENTILES
from recommender.cost_model.layout_domain import LayoutDomain, with_count
from recommender.cost_model.question import Question
from recommender.cost_model.settings.engine_defaults import trainers
from recommender.cost_model.settings.plans import CHOICES
from recommender.cost_model.workloads.inference import feeds_forward
from recommender.cost_model.workloads.memory_fit import USABLE_MEMORY

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Images of a device that are tried where none are stated; a choice."""
SEQUENCES = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Sequences of one engine that are tried where none are stated: steps of half a doubling; a choice."""
MICRO_BATCHES = (1, 2, 4, 8)
"""Samples of a micro-batch that are tried; a choice."""
TOKENS_AT_ONCE = 32_768.0
"""Tokens of a micro-batch up to which more short sequences are tried: eight of the usual length; a choice."""
TOKENS_OF_A_STEP = 4e6
"""Tokens of an optimiser step where the batch is not stated: Touvron et al., Llama 2, 2023, section 2.2."""

LIMITED = {
    "tpot": "tpot_s", "ttft": "ttft_s", "latency": "request_s", "e2e_latency": "request_s",
    **{f"{time}_{end}": f"{time}_{end}_s" for time in ("ttft", "tpot") for end in PERCENTILES},
    **{f"latency_{end}": f"request_{end}_s" for end in PERCENTILES},
}  # fmt: skip
"""Result of the cost model by metric of a limit."""

SHORTEST = frozenset(
    {"tpot", "latency", "e2e_latency"}.union(*((f"tpot_{end}", f"latency_{end}") for end in PERCENTILES))
)
"""Metrics of one request: a larger batch only makes them worse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutQuestion:
    """A question about layouts.

    Attributes:
        question: Model, machine, phase and the settings that hold.
        objective: Metric to improve.
        limits: Bounds on other metrics.
        concurrency: Requests at once on all devices, stated or assumed; None where nothing says.
        is_load_told: Whether the question states them: then as many run at once as the memory holds.
        usable: Share of the memory that a server fills.
        cache_share: Share of what is left beside the weights that its cache takes.
        cache_bytes: Bytes of a device's cache, where the launch says so.
        most_of_engine: Requests that one engine takes at most; None where nothing says.
        engines: Engines of the launch that runs now; 0 where no layout runs.
        batch: Requests that each engine runs now; None where nothing says.
        loads: Requests at once on all devices that are tried; empty for those that suit each layout.
        splits: Whether the framework splits a model over devices at all.
        degrees: Parallel sizes that run now, by the names of the cost model.
        is_separate: Whether replicas are engines of their own, as what runs now says.
        block: Columns of an expert that have one scale; 0 where each has its own.
        shards: What is tried of how a trainer shares weights and states out; empty where that is settled.
    """

    question: Question
    objective: str
    limits: tuple[Limit, ...] = ()
    concurrency: float | None = None
    is_load_told: bool = False
    usable: float = USABLE_MEMORY
    cache_share: float = 1.0
    cache_bytes: float = math.inf
    most_of_engine: float | None = None
    engines: float = 0.0
    batch: float | None = None
    loads: tuple[float, ...] = ()
    splits: bool = True
    degrees: Mapping[str, object] = field(default_factory=dict)
    is_separate: bool = False
    block: int = 0
    shards: tuple[Mapping[str, float], ...] = ()

    @property
    def domain(self) -> LayoutDomain:
        """The layouts that are open."""
        return LayoutDomain(
            question=self.question,
            splits=self.splits,
            degrees=self.degrees,
            is_separate=self.is_separate,
            block=self.block,
        )

    @property
    def is_for_latency(self) -> bool:
        """True if the time of one request is minimised or limited."""
        return self.objective in SHORTEST or any(limit.metric in LIMITED for limit in self.limits)

    @property
    def answers_in_tokens(self) -> bool:
        """True if a server writes answers of several tokens."""
        model, phase = self.question.model, self.question.phase
        is_pass = phase == "training" or model.encodes or feeds_forward(model, phase)
        return not is_pass and self.question.settings.get("output_len") != 1

    @property
    def is_load_open(self) -> bool:
        """True if nothing fixes the number of requests at once, or the time of a token."""
        is_said = self.is_for_latency or self.concurrency or self.most_of_engine or self.batch or self.loads
        return self.answers_in_tokens and not is_said

    def most_of(self, replicas: int) -> float | None:
        """Requests that each of so many engines takes at most; None where nothing says.

        A launch admits what its engines take together, and another layout is compared at no more.
        """
        if self.most_of_engine is None or not self.engines:
            return self.most_of_engine
        return max(1.0, math.ceil(self.most_of_engine * self.engines / replicas))

    @property
    def undivided(self) -> LayoutQuestion:
        """The same where nothing runs yet."""
        splits = self.splits and self.question.engine not in trainers()
        return replace(self, degrees={}, is_separate=False, splits=splits)


def on_devices(query: LayoutQuestion, count: int) -> LayoutQuestion:
    """The same question for another number of devices."""
    return replace(query, question=with_count(query.question, count))


def batches(query: LayoutQuestion, replicas: int) -> Iterator[dict[str, float]]:
    """Requests of each engine that are tried, or micro-batches with how they are trained."""
    if query.loads:
        yield from ({"batch": each} for each in sorted({load // replicas for load in query.loads} - {0.0}))
        return
    if query.batch and query.question.phase != "training":
        yield {"batch": query.batch}
        return
    if query.question.phase != "training":
        most = float(SEQUENCES[-1])
        if query.concurrency:
            most = max(1, math.ceil(query.concurrency / replicas))
        most = min(most, query.most_of(replicas) or most)
        beyond = (SEQUENCES[at] << turn for turn in itertools.count(1) for at in (-2, -1))
        longer = itertools.takewhile(lambda size: size < most, beyond)
        sizes = [*(size for size in SEQUENCES if size < most), *longer]  # what does not fit at once waits
        if query.objective in SHORTEST and not query.concurrency:  # a short time for one
            sizes, most = [], 1
        yield from ({"batch": float(size)} for size in (*sizes, most))
        return
    stated = _number(query.question.settings.get("global_batch"))
    length = _number(query.question.settings.get("seq_len")) or 1.0
    target = stated or TOKENS_OF_A_STEP / length
    fixed = _number(query.question.settings.get("micro_batch"))
    if feeds_forward(query.question.model, "training"):  # a step is one batch of each device, or as stated
        for micro in (fixed,) if fixed else BATCHES:
            turns = stated / (micro * replicas) if stated else 1
            if turns >= 1 and not turns % 1:
                yield {"micro_batch": micro, "global_batch": micro * replicas * turns}
        return
    is_whole = query.question.settings.get("global_batch") == 0  # a step is one micro-batch of each copy
    held = query.question.settings.get("recompute")
    ways = (0.0, 2.0) if held is None else (float(CHOICES["recompute"].index(str(held))),)
    shards = (query.shards if replicas > 1 else ()) or ({},)
    short = (size for size in BATCHES if MICRO_BATCHES[-1] < size <= TOKENS_AT_ONCE / length)
    for micro, again, shard in itertools.product(
        (fixed,) if fixed else (*MICRO_BATCHES, *short), ways, shards
    ):
        at_once = micro * replicas
        usual = 1 if is_whole else 2 ** round(math.log2(target / at_once))
        turns = max(stated / at_once if stated else usual, 1)
        if not turns % 1:
            yield {"micro_batch": micro, "global_batch": at_once * turns, "recompute": again, **shard}


def _number(value: object) -> float | None:
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None
    )
