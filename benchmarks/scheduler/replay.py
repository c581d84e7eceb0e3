"""Engines under a load, step by step: throughput, TTFT and TPOT where the time of a step is given.

The loop around the scheduler, the steps of engines that share their experts and the dealing of requests are
those of vLLM 0.32. Steps between two events are taken together and cut short where a request comes.
"""

import heapq
import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.scheduler.engine import LoopEngine, LoopPlan, LoopSequence
from benchmarks.scheduler.load import LoopRequest, LoopSettings, LoopStepTime

Floats = NDArray[np.float64]

RESTING_STEPS = 16
"""Engines in step run on without work up to a multiple of so many steps (``dp_sync_interval``)."""
PUBLISHED_S = 0.1
"""Between two counts of requests that engines publish (``min_stats_update_interval_ms``)."""
QUANTILES = (50, 90, 99)


def replay(
    settings: LoopSettings, requests: Iterator[LoopRequest], step_time: LoopStepTime
) -> dict[str, float]:
    """Throughput, quantiles of TTFT and TPOT, and preemptions of a load.

    Args:
        settings: What the loop runs under.
        requests: Without end; a few more are taken than are measured.
        step_time: Time of a step.

    Raises:
        InputError: The cache does not hold a request.
    """
    run = _Replay(settings, requests, step_time)
    run.serve()
    sent = [one.sent for one in run.sequences]
    measured = run.sequences[settings.warm : settings.warm + settings.measured]
    begin, end = sent[settings.warm], sent[settings.warm + settings.measured]
    produced = sum(
        tokens * (int(np.searchsorted(times, end, "right")) - int(np.searchsorted(times, begin, "right")))
        for times, tokens in run.emitted
    )
    first = [one.first - one.sent for one in measured]
    later = [
        (one.last - one.first) / (one.request.output_len - 1)
        for one in measured
        if one.request.output_len > 1
    ]
    return {
        "throughput": produced / (end - begin),
        **{f"ttft_p{share}": _quantile(first, share) for share in QUANTILES},
        **{f"tpot_p{share}": _quantile(later, share) for share in QUANTILES},
        "preemptions": float(sum(engine.preemptions for engine in run.engines)),
    }


def _quantile(values: Sequence[float], share: float) -> float:
    return float(np.percentile(values, share)) if values else float("nan")


@dataclass(slots=True)
class _Launch:
    """Steps that run: the plans of the engines that take them together, and the ends that are left."""

    plans: list[LoopPlan]
    ends: Floats
    rests: bool


class _Group:
    """Engines that take their steps together; one alone where they do not wait for one another."""

    def __init__(self, engines: list[LoopEngine], settings: LoopSettings, step_time: LoopStepTime) -> None:
        self.engines = engines
        self.flying: deque[_Launch] = deque()
        self.version = 0
        self.is_idle = True
        self._settings, self._step_time = settings, step_time
        self._end, self._counter = 0.0, 0
        self._empty_s = float(step_time(1.0, np.zeros(1), 0.0)[0])

    @property
    def runs_on(self) -> bool:
        """Whether the last of the steps that run flies while the next is scheduled."""
        return self._settings.async_scheduling and not (self.flying and self.flying[-1].rests)

    @property
    def due(self) -> float:
        """When the oldest steps are settled: all of them, or all but the last, which then flies."""
        ends = self.flying[0].ends
        return float(ends[-2] if self.settles_partly else ends[-1])

    @property
    def settles_partly(self) -> bool:
        """Whether the last of the oldest steps flies on."""
        return self.runs_on and len(self.flying) == 1 and len(self.flying[0].ends) > 1

    @property
    def takes_more(self) -> bool:
        """Whether a further step is to be scheduled."""
        if not self.flying:
            return True
        return self.runs_on and len(self.flying) == 1 and len(self.flying[0].ends) == 1

    def launch(self, now: float) -> bool:
        """Schedule what comes next, to start when the device is free; false where there is nothing."""
        settings = self._settings
        plans = [engine.plan() for engine in self.engines]
        works = [plan for plan in plans if plan.tokens]
        resting = -self._counter % RESTING_STEPS if settings.lockstep else 0
        if not works and (self.flying or not resting):
            self._counter = self._counter if self.flying else 0
            return False
        steps = np.arange(min((plan.steps for plan in works), default=resting), dtype=np.float64)
        longest = np.full(len(steps), self._empty_s if len(works) < len(plans) else 0.0)
        for plan in works:
            times = self._step_time(plan.tokens, plan.context + plan.tokens * steps, plan.pairs)
            longest = np.maximum(longest, times)
        host = settings.host_s if works else 0.0
        if settings.async_scheduling and works:
            longest[1:] = np.maximum(longest[1:], host)
            ends = max(now + host, self._end) + np.cumsum(longest)
        else:
            ends = max(now, self._end) + np.cumsum(longest + host)
        self._end = float(ends[-1])
        self._counter += len(ends)
        self.flying.append(_Launch(plans, ends, rests=not works))
        return True

    def cut(self, time: float) -> bool:
        """End steps that were planned together early, as a request comes; whether any were left to cut."""
        if not self.flying or len(self.flying[-1].ends) < 2:
            return False
        last = self.flying[-1]
        before = int(np.searchsorted(last.ends, time))
        if self.runs_on:  # the step after the one that runs is scheduled already
            before += not (len(self.flying) > 1 and time <= self.flying[0].ends[-1])
        if before + 1 >= len(last.ends):
            return False
        self._counter -= len(last.ends) - before - 1
        last.ends = last.ends[: before + 1]
        self._end = float(last.ends[-1])
        return True

    def settle(self, now: float, numbers: random.Random) -> tuple[tuple[Floats, float], list[LoopSequence]]:
        """Write down the oldest steps: their ends, the tokens of each, and which requests are answered."""
        launch, partly = self.flying[0], self.settles_partly
        steps, produced, done = len(launch.ends) - partly, 0, list[LoopSequence]()
        for engine, plan in zip(self.engines, launch.plans, strict=True):
            if plan.tokens:
                engine.advance(plan, len(launch.ends) - 1)
                tokens, answered = engine.settle(plan, steps, now, numbers, flies=partly)
                produced += tokens
                done += answered
        emitted = (launch.ends[:steps], produced / steps)
        if partly:
            launch.ends = launch.ends[steps:]
        else:
            self.flying.popleft()
        return emitted, done


class _Replay:
    """The engines of a load, its requests, and what happens next."""

    def __init__(
        self, settings: LoopSettings, requests: Iterator[LoopRequest], step_time: LoopStepTime
    ) -> None:
        self.engines = [LoopEngine(settings) for _ in range(settings.engines)]
        self.sequences: list[LoopSequence] = []
        self.emitted: list[tuple[Floats, float]] = []
        self._settings, self._requests = settings, requests
        together = [self.engines] if settings.lockstep else [[engine] for engine in self.engines]
        self._groups = [_Group(engines, settings, step_time) for engines in together]
        self._events: list[tuple[float, int, int, int]] = []
        self._order = 0
        self._numbers = random.Random(settings.seed)  # no secret
        self._coming = next(requests)
        self._first_engine, self._published = 0, PUBLISHED_S
        self._in_flight = [0] * settings.engines
        self._scores = [(0, 0.0)] * settings.engines

    def serve(self) -> None:
        """Go on until the measured requests are answered."""
        settings = self._settings
        for _ in range(settings.users):
            self._push(0.0)
        if not settings.users:
            self._push(self._coming.gap)
        last, at = settings.warm + settings.measured, settings.warm
        while at < last or len(self.sequences) <= last:
            if at < len(self.sequences) and self.sequences[at].left <= 0:
                at += 1
                continue
            now, _, place, version = heapq.heappop(self._events)
            if now >= self._published:
                self._scores = [engine.score for engine in self.engines]
                self._published = (now // PUBLISHED_S + 1) * PUBLISHED_S
            if place < 0:
                self._deal(now)
            elif version == self._groups[place].version:
                self._act(place, now)

    def _push(self, time: float, place: int = -1) -> None:
        """Plan the coming of a request, or an act of a group, which voids its earlier one."""
        self._order += 1
        version = 0
        if place >= 0:
            self._groups[place].version = version = self._groups[place].version + 1
        heapq.heappush(self._events, (time, self._order, place, version))

    def _deal(self, now: float) -> None:
        """Give a request to the engine with the lowest score."""
        request, self._coming = self._coming, next(self._requests)
        many = self._settings.engines
        turn = [(self._first_engine + step) % many for step in range(many)]
        chosen = min(
            turn, key=lambda one: max(self._in_flight[one], self._scores[one][0]) + self._scores[one][1]
        )
        self._scores[chosen] = (self._scores[chosen][0] + 1, self._scores[chosen][1])
        self._first_engine = (self._first_engine + 1) % many
        self._in_flight[chosen] += 1
        one = LoopSequence(
            request=request, sent=now, engine=chosen, target=request.input_len, left=request.output_len
        )
        self.sequences.append(one)
        self.engines[chosen].inbox.append(one)
        place = 0 if self._settings.lockstep else chosen
        group = self._groups[place]
        if group.is_idle:
            group.is_idle = False
            self._push(now, place)
        elif group.cut(now):
            self._push(group.due, place)
        if not self._settings.users:
            self._push(now + self._coming.gap)

    def _act(self, place: int, now: float) -> None:
        """Settle what has run, schedule what comes next; who has an answer sends the next request."""
        group = self._groups[place]
        if group.flying and group.due <= now:
            emitted, done = group.settle(now, self._numbers)
            self.emitted.append(emitted)
            for one in done:
                self._in_flight[one.engine] -= 1
                if self._settings.users:
                    self._push(now)
        while group.takes_more and group.launch(now):
            now += self._settings.host_s if self._settings.async_scheduling else 0.0
        group.is_idle = not group.flying
        if group.flying:
            self._push(max(now, group.due), place)
