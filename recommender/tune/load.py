"""The load of a probe, and a client that puts it on a server.

Open loop: a fixed number of arrivals, drawn once for all configurations of a round and stretched to the
rate, so that two configurations meet the same requests at the same moments; a request counts from the moment
it was due. Closed loop: so many users, each of whom sends the next request when the last one is answered.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from threading import Event
from typing import Any

import data
from kg.errors import InputError
from kg.nouns.values import load_json
from recommender.measuring.outcome import CancelledError
from recommender.tune.http_stream import Address, AnswerError, lines_of

_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:/s|rps|req/s)?")
_USERS = re.compile(r"concurrency\s*=\s*(\d{1,6})")
_TICK_S = 0.05
_ANSWER_S = 600.0
"""For one request of a load; a choice."""
MOST_REQUESTS = 5000
"""Most requests of a probe: a client in Python sends no more in a second; a choice."""


class LoadKind(StrEnum):
    """The kind of a load."""

    CONCURRENCY = "concurrency"
    RATE = "rate"
    FIND = "find"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A load.

    Attributes:
        kind: Users at a time, requests a second, or the highest rate that keeps the limits.
        value: Users or requests a second; of ``FIND`` zero.
        requests: Requests of a probe at least.
        least_s: Time of a probe at least: a server that is fast gets more requests.
        input_len: Tokens of a prompt.
        output_len: Tokens of an answer.
        shapes: Lengths of the requests of a trace, and the moment of each as a part of its span; empty
            where all requests are alike.
    """

    kind: LoadKind
    value: float = 0.0
    requests: int = 100
    least_s: float = 5.0
    input_len: int = 512
    output_len: int = 128
    shapes: tuple[tuple[float, int, int], ...] = ()

    @classmethod
    def parse(cls, text: str) -> tuple[LoadKind, float]:
        """Read ``"concurrency=64"``, ``"20/s"`` or ``"find"``.

        Raises:
            InputError: It is none of them.
        """
        plain = text.strip().lower()
        if plain == LoadKind.FIND:
            return LoadKind.FIND, 0.0
        found = _USERS.fullmatch(plain)
        if found is not None and int(found[1]) > 0:
            return LoadKind.CONCURRENCY, float(found[1])
        rate = _RATE.fullmatch(plain)
        if rate is not None and float(rate[1]) > 0:
            return LoadKind.RATE, float(rate[1])
        raise InputError(f"a load of {text!r}", hint="concurrency=64, 20/s, or find")

    def __str__(self) -> str:
        if self.kind is LoadKind.CONCURRENCY:
            return f"{self.value:.0f} users"
        return "the highest rate" if self.kind is LoadKind.FIND else f"{self.value:g} requests/s"

    def count(self, rate: float) -> int:
        """The requests of a probe at a rate."""
        return min(MOST_REQUESTS, max(self.requests, math.ceil(rate * self.least_s)))

    def draw(
        self, seed: int, words_per_token: float = 1.0, *, count: int = 0, salt: int = 0
    ) -> tuple[PlannedRequest, ...]:
        """The requests of a round, each with its moment as a part of the whole; the same for the same seed.

        Args:
            seed: Of moments and lengths.
            words_per_token: Words of ours in a token of the server.
            count: How many; as many as a probe has at least if 0.
            salt: Of the words: a prompt that a server has seen costs it less, so no probe repeats one.
        """
        count = count or self.requests
        rng, words = random.Random(seed), random.Random(f"{seed}/{salt}")  # noqa: S311  a load is no secret
        if self.shapes:
            at = rng.randrange(max(1, len(self.shapes) - count + 1))
            part = self.shapes[at : at + count]
            first, span = part[0][0], max(part[-1][0] - part[0][0], 1e-9)
            rows = [((moment - first) / span, one, other) for moment, one, other in part]
        else:
            moments = sorted(rng.random() for _ in range(count))
            rows = [(moment, self.input_len, self.output_len) for moment in moments]
        return tuple(
            PlannedRequest(
                moment=moment,
                prompt=" ".join(words.choices(_nouns(), k=max(1, round(size * words_per_token)))),
                output_len=max(1, answer),
            )
            for moment, size, answer in rows
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRequest:
    """A request that is to be sent.

    Attributes:
        moment: When, as a part of the whole probe, 0 to 1.
        prompt: Its text.
        output_len: Tokens that are asked for.
    """

    moment: float
    prompt: str
    output_len: int


@dataclass(slots=True, kw_only=True)
class RequestRecord:
    """A request that was sent, by the seconds of the probe.

    Attributes:
        due: When it was to be sent.
        sent: When it was.
        first: When its first token came; None if none did.
        last: When its last one came.
        tokens: Tokens of its answer.
        prompt_tokens: Tokens of its prompt, as the server counts them; 0 where it does not tell.
        error: Why it failed; empty if it did not.
    """

    due: float
    sent: float
    first: float | None = None
    last: float = 0.0
    tokens: int = 0
    prompt_tokens: int = 0
    error: str = ""

    def latency(self, metric: str) -> float | None:
        """Its ``ttft``, ``tpot`` or ``e2e`` in seconds, from when it was due; None if it failed."""
        if self.error or self.first is None:
            return None
        if metric == "ttft":
            return self.first - self.due
        if metric == "tpot":
            return (self.last - self.first) / max(1, self.tokens - 1)
        return self.last - self.due


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """Result of a load.

    Attributes:
        records: Its requests, in the order in which they ended.
        wall_s: From the first that was due to the last that ended.
        cpu_share: Part of a core that the client used.
        is_cut: Whether it was ended before all requests were sent.
        metrics: What a load generator of others states in place of requests, by metric, in SI units.
    """

    records: tuple[RequestRecord, ...]
    wall_s: float
    cpu_share: float
    is_cut: bool = False
    metrics: Mapping[str, float] = field(default_factory=dict)

    @property
    def ended(self) -> tuple[RequestRecord, ...]:
        """Requests that were answered."""
        return tuple(item for item in self.records if not item.error)

    @property
    def tokens_per_s(self) -> float:
        """Tokens of answers a second."""
        if self.metrics:
            return self.metrics["throughput"]
        return sum(item.tokens for item in self.ended) / self.wall_s if self.wall_s > 0 else 0.0

    @property
    def mean_e2e_s(self) -> float:
        """Mean latency of a request."""
        if self.metrics:
            return self.metrics.get("e2e_latency", 0.0)
        return sum(item.last - item.due for item in self.ended) / max(1, len(self.ended))

    def percentile(self, metric: str, share: float) -> float | None:
        """A percentile of a latency; None where nothing was answered."""
        return _percentile((item.latency(metric) for item in self.ended), share)

    @property
    def send_lag_s(self) -> float:
        """Lag of the client's sends, at the 99th percentile."""
        return _percentile((item.sent - item.due for item in self.records), 0.99) or 0.0


def _percentile(values: Iterable[float | None], share: float) -> float | None:
    known = sorted(value for value in values if value is not None)
    return known[min(len(known) - 1, int(share * len(known)))] if known else None


@cache
def _nouns() -> tuple[str, ...]:
    """Common words, of which prompts are made."""
    return tuple(data.text("tune/words.txt").split())


def put(
    address: Address,
    model: str,
    requests: Sequence[PlannedRequest],
    *,
    rate: float | None = None,
    users: int | None = None,
    cancel: Event,
    is_decided: Callable[[Sequence[RequestRecord]], bool] = lambda _: False,
) -> LoadResult:
    """Put a load on a server.

    Args:
        address: The server's.
        model: The name that it serves the model under.
        requests: What is sent.
        rate: Requests a second of an open loop; None for a closed one.
        users: Users of a closed loop.
        cancel: Ends it when set.
        is_decided: Asked after each answer; true ends the probe.

    Raises:
        CancelledError: ``cancel`` was set.
    """
    return asyncio.run(
        _Client(address, model).put(requests, rate=rate, users=users, cancel=cancel, done=is_decided)
    )


class _Client:
    """A client of a server that speaks OpenAI's completions."""

    def __init__(self, address: Address, model: str) -> None:
        self._address, self._model = address, model
        self._began = 0.0
        self._records: list[RequestRecord] = []

    async def put(
        self,
        requests: Sequence[PlannedRequest],
        *,
        rate: float | None,
        users: int | None,
        cancel: Event,
        done: Callable[[Sequence[RequestRecord]], bool],
    ) -> LoadResult:
        span = len(requests) / rate if rate else 0.0
        self._began, cpu = time.perf_counter(), time.process_time()
        queue = iter(requests)
        senders = (
            [asyncio.create_task(self._at(item.moment * span, item)) for item in requests]
            if rate
            else [asyncio.create_task(self._user(queue)) for _ in range(users or 1)]
        )
        is_cut = False
        try:
            while pending := [task for task in senders if not task.done()]:
                seen = len(self._records)
                await asyncio.wait(pending, timeout=_TICK_S, return_when=asyncio.FIRST_COMPLETED)
                if cancel.is_set():
                    raise CancelledError("the probe was interrupted")
                if len(self._records) > seen and done(self._records) and len(self._records) < len(requests):
                    is_cut = True
                    break
        finally:
            for task in senders:
                task.cancel()
            await asyncio.gather(*senders, return_exceptions=True)
        wall = max((item.last for item in self._records), default=0.0)
        return LoadResult(
            records=tuple(self._records),
            wall_s=wall,
            cpu_share=(time.process_time() - cpu) / max(time.perf_counter() - self._began, 1e-9),
            is_cut=is_cut,
        )

    async def _at(self, due: float, request: PlannedRequest) -> None:
        await asyncio.sleep(max(0.0, due - self._now()))
        await self._send(due, request)

    async def _user(self, queue: Iterator[PlannedRequest]) -> None:
        for request in queue:
            await self._send(self._now(), request)

    async def _send(self, due: float, request: PlannedRequest) -> None:
        record = RequestRecord(due=due, sent=self._now())
        body = {
            "model": self._model,
            "prompt": request.prompt,
            "max_tokens": request.output_len,
            "temperature": 0,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        try:
            async with asyncio.timeout(_ANSWER_S):
                await self._read(record, body)
        except (AnswerError, OSError, ValueError, TypeError, OverflowError) as fault:
            record.error = str(fault) or type(fault).__name__
        if not record.error and record.first is None:
            record.error = "it answered without a token"
        record.last = record.last or self._now()
        self._records.append(record)

    async def _read(self, record: RequestRecord, body: dict[str, Any]) -> None:
        async for line in lines_of(self._address, "/v1/completions", body):
            if not line.startswith("data:") or line.endswith("[DONE]"):
                continue
            if '"error"' in line[:16]:
                record.error = line[5:].strip()[:200]
            elif '"usage":{' in line.replace(" ", ""):
                usage = _usage(line[5:])
                record.tokens = int(usage.get("completion_tokens") or record.tokens)
                record.prompt_tokens = int(usage.get("prompt_tokens") or 0)
            if '"choices":[]' not in line:
                record.last = self._now()
                record.first = record.first or record.last
                record.tokens += '"finish_reason":null' in line.replace(" ", "")

    def _now(self) -> float:
        return time.perf_counter() - self._began


def _usage(text: str) -> Mapping[str, Any]:
    content = load_json(text)
    found = content.get("usage") if isinstance(content, dict) else None
    return found if isinstance(found, dict) else {}
