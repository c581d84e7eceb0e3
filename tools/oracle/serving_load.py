"""A serving load that an engine's scheduler is run under: settings, requests, and the time that a step takes.

Everything follows from the columns of a row and its seed by the random numbers of the standard library, so a
replay sees the requests that the engine saw. Seconds throughout.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

KINDS = ("plain", "chunked", "preempting", "drafts", "prefix", "engines", "lockstep")
"""Purposes of a drawn load; ``engines`` are independent, ``lockstep`` ones share their experts."""
BLOCK = 16
"""Tokens of a block of the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingLoad:
    """One load.

    Attributes:
        kind: One of ``KINDS``.
        seed: Of lengths, gaps and accepted drafts.
        requests: Requests that are measured, after as many as warm the engines up.
        users: Requests in flight, each followed by the next; 0 where they come at a rate.
        rate: Requests a second that come at random; 0 where users wait for their answers.
        input_len: Mean tokens of a prompt.
        output_len: Mean tokens of an answer.
        spread: Lengths are uniform within this share of their mean; 0 for equal ones.
        max_num_seqs: Requests that an engine works on at once.
        max_num_batched_tokens: Tokens of a step.
        blocks: Blocks of the cache of an engine.
        prefix_caching: Whether blocks are found again by their content.
        prefix_share: Part of each prompt that others share.
        prefix_groups: Different shared parts, one drawn for each request.
        drafts: Tokens drafted for each sequence and step.
        acceptance: Chance that a draft is accepted, by position, where those before it were.
        async_scheduling: Whether a step is scheduled while the one before runs.
        engines: Data-parallel engines.
        step_s: Time of a step, whatever it holds.
        token_s: For each token of the step.
        context_s: For each cached token that a sequence of the step attends to.
        pair_s: For each pair of tokens of a prefill that attend to one another.
        host_s: Time to schedule a step.
    """

    kind: str
    seed: int
    requests: int
    users: int
    rate: float
    input_len: int
    output_len: int
    spread: float
    max_num_seqs: int
    max_num_batched_tokens: int
    blocks: int
    prefix_caching: int
    prefix_share: float
    prefix_groups: int
    drafts: int
    acceptance: tuple[float, ...]
    async_scheduling: int
    engines: int
    step_s: float
    token_s: float
    context_s: float
    pair_s: float
    host_s: float

    @property
    def lockstep(self) -> bool:
        """True if engines wait for one another in each step."""
        return self.kind == "lockstep"

    @property
    def warm(self) -> int:
        """Requests that go before the measured ones."""
        return max(self.users, self.requests // 4)

    def step_time(self, work: StepWork) -> float:
        """Seconds of a step on the device."""
        return (
            self.step_s
            + self.token_s * work.tokens
            + self.context_s * work.context
            + self.pair_s * work.pairs
        )

    def to_row(self) -> dict[str, str]:
        """The columns of a table."""
        return {name: _text(getattr(self, name)) for name in COLUMNS}

    @classmethod
    def from_row(cls, row: Mapping[str, str]) -> ServingLoad:
        """The load of a row of a table."""
        return cls(**{name: _READERS[name](row[name]) for name in COLUMNS})


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWork:
    """The work that the time of a step depends on.

    Attributes:
        tokens: Tokens of all requests, drafts among them.
        context: Cached tokens that its sequences attend to, themselves included.
        pairs: Pairs of tokens of what is prefilled.
        decodes: Sequences that are not prefilled.
    """

    tokens: int = 0
    context: int = 0
    pairs: float = 0.0
    decodes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """A request.

    Attributes:
        index: Its place in the order of arrival.
        gap: Seconds after the one before it.
        input_len: Tokens of the prompt.
        output_len: Tokens of the answer.
        shared: First tokens of the prompt that others share.
        group: Which of the shared parts they are.
    """

    index: int
    gap: float
    input_len: int
    output_len: int
    shared: int
    group: int


def requests_of(load: ServingLoad) -> Iterator[LoadRequest]:
    """The requests of a load, without end.

    Gaps are those of a Poisson process, scaled so that the measured ones take the time that the rate gives: a
    window of a few hundred arrivals would else be off its rate by several per cent.
    """
    numbers, index, block = random.Random(load.seed), 0, load.warm + 1
    while True:
        gaps = [numbers.expovariate(1.0) for _ in range(block)]
        unit = block / load.rate / sum(gaps) if load.rate else 0.0
        block = load.requests
        for gap in gaps:
            sizes = [_around(numbers, mean, load.spread) for mean in (load.input_len, load.output_len)]
            yield LoadRequest(
                index=index,
                gap=gap * unit,
                input_len=sizes[0],
                output_len=sizes[1],
                shared=int(load.prefix_share * load.input_len),
                group=numbers.randrange(max(load.prefix_groups, 1)),
            )
            index += 1


def _around(numbers: random.Random, mean: int, spread: float) -> int:
    """A length, at least 1; the draw is made in any case, so that the others do not depend on the spread."""
    return max(1, round(mean * (1 + spread * numbers.uniform(-1, 1))))


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split("/") if part)


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return "/".join(f"{part:g}" for part in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


COLUMNS = tuple(field.name for field in fields(ServingLoad))
"""Columns of a load in a table."""
_BY_TYPE: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "tuple[float, ...]": _numbers,
}
_READERS = {field.name: _BY_TYPE[str(field.type)] for field in fields(ServingLoad)}
