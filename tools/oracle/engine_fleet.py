"""Engines under a load on a simulated clock: arrivals, dealing, the loop around each scheduler, and figures.

The scheduler is the engine's own (:class:`ReleasedEngine`). The loop around it, the dealing of requests and
the steps of engines that wait for one another follow ``vllm/v1/engine/core.py``, ``core_client.py`` and
``coordinator.py`` of vLLM 0.32; the device is replaced by the given time of a step.
"""

import json
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tools.oracle.serving_load import LoadRequest, ServingLoad, StepWork, requests_of
from tools.oracle.simulated_clock import ClockProcess, ClockSignal, Meeting, PassLane, SimulatedClock

PUBLISHED_S = 0.1
"""Between two counts that engines publish (``min_stats_update_interval_ms`` of the coordinator)."""
MEETING_STEPS = 16
"""Steps between two questions whether any engine has work (``dp_sync_interval``)."""
QUANTILES = (50, 90, 99)
LONGEST = 65536
"""Tokens of the longest request."""
MODEL = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 1000,
    "max_position_embeddings": LONGEST, "torch_dtype": "bfloat16", "rms_norm_eps": 1e-5,
}  # fmt: skip
"""A model that is never run: schedulers read its kind and its longest request."""
FIGURES = (
    "output_tokens_per_s", *(f"{name}_p{share}_s" for name in ("ttft", "tpot") for share in QUANTILES),
    "steps", "dummy_steps", "preemptions", "decode_batch",
)  # fmt: skip
"""Columns of what a load gave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """A step as scheduled.

    Attributes:
        work: What its time depends on.
        handle: What the engine needs to finish it.
    """

    work: StepWork
    handle: object


class ReleasedEngine(Protocol):
    """An engine's own scheduler.

    Attributes:
        preemptions: Requests that lost their blocks so far.
    """

    preemptions: int

    def add(self, request: LoadRequest) -> None:
        """Take a request."""

    def has_requests(self) -> bool:
        """True if anything is to be scheduled, or to be cleared away."""

    def has_unfinished(self) -> bool:
        """True if any request is unanswered."""

    def counts(self) -> tuple[int, int, float]:
        """Requests that wait, requests that run, share of the cache in use."""

    def plan(self) -> PlannedStep:
        """Schedule a step."""

    def finish(self, step: PlannedStep) -> list[tuple[int, int, bool]]:
        """Settle a step that has run: index of a request, tokens that it got, whether it is answered."""


@dataclass(slots=True)
class _Answer:
    """The progress of a request."""

    sent: float
    first: float = 0.0
    last: float = 0.0
    tokens: int = 0
    done: bool = False


class EngineFleet:
    """Engines that serve one load."""

    def __init__(self, load: ServingLoad, engines: Sequence[ReleasedEngine]) -> None:
        self.load, self._engines = load, engines
        self._clock = SimulatedClock()
        self._requests = requests_of(load)
        self._answers: list[_Answer] = []
        self._placed: dict[int, int] = {}
        self._flying = [0] * len(engines)
        self._known = [[0, 0, 0.0] for _ in engines]
        self._first_engine = 0
        self._inbox: list[deque[LoadRequest]] = [deque() for _ in engines]
        self._wake = [ClockSignal() for _ in engines]
        self._running = False
        self._meeting = Meeting(len(engines), self._conclude)
        many, shared = len(engines), PassLane(len(engines))
        self._lanes = [(shared, place) if load.lockstep else (PassLane(1), 0) for place in range(many)]
        self._steps = self._dummies = self._decoded = 0
        self._emitted: list[tuple[float, int]] = []

    def serve(self) -> dict[str, float]:
        """Run until the measured requests are answered; the figures of ``FIGURES``."""
        load = self.load
        for place in range(len(self._engines)):
            self._clock.start(self._loop(place))
        if len(self._engines) > 1:
            self._clock.at(0.0, self._publish)
        for _ in range(load.users):
            self._clock.at(0.0, self._send)
        if load.rate:
            self._arrive()
        last, waiting = load.warm + load.requests, load.warm

        def done() -> bool:
            nonlocal waiting
            while waiting < min(last, len(self._answers)) and self._answers[waiting].done:
                waiting += 1
            return waiting >= last < len(self._answers)

        self._clock.run(done)
        return self._figures()

    def _arrive(self) -> None:
        """Send the next request of a rate when it is due."""
        request = next(self._requests)
        due = self._clock.now + request.gap

        def send() -> None:
            self._deal(request)
            self._arrive()

        self._clock.at(due, send)

    def _send(self) -> None:
        """Send the next request of a user."""
        self._deal(next(self._requests))

    def _deal(self, request: LoadRequest) -> None:
        """Give a request to the engine with the lowest score, as the client of many engines does."""
        self._answers.append(_Answer(self._clock.now))
        chosen, least, many = 0, float("inf"), len(self._engines)
        for step in range(many):
            place = (self._first_engine + step) % many
            waiting, running, usage = self._known[place]
            score = max(self._flying[place], waiting + running) + waiting * 6.0 * max(0.0, usage - 0.5)
            if score < least:
                chosen, least = place, score
        self._known[chosen][0] += 1
        self._first_engine = (self._first_engine + 1) % many
        self._flying[chosen] += 1
        self._placed[request.index] = chosen
        self._inbox[chosen].append(request)
        woken = range(many) if self.load.lockstep else (chosen,)
        self._running = True
        for place in woken:
            if self._wake[place].time is None:
                self._wake[place].set(self._clock.now)

    def _publish(self) -> None:
        """Publish the engines' loads to the client."""
        self._known = [list(engine.counts()) for engine in self._engines]
        self._clock.at(self._clock.now + PUBLISHED_S, self._publish)

    def _loop(self, place: int) -> ClockProcess:
        """The busy loop of an engine."""
        load, engine, (lane, member) = self.load, self._engines[place], self._lanes[place]
        depth = 2 if load.async_scheduling else 1
        queue: deque[tuple[PlannedStep, ClockSignal]] = deque()
        now, counter = 0.0, 0
        while True:
            while self._inbox[place]:
                engine.add(self._inbox[place].popleft())
            idle = not (load.lockstep and self._running) and not engine.has_requests() and not queue
            if idle:
                self._wake[place] = ClockSignal()
                now = yield self._wake[place]
                continue
            executed, settles = False, bool(queue)
            if engine.has_requests():
                step = engine.plan()
                executed = step.work.tokens > 0
                now = yield ClockSignal(now + load.host_s)
                if executed:
                    end = lane.launch(member, now, load.step_time(step.work))
                    self._steps += 1
                    self._decoded += step.work.decodes
                else:
                    end = ClockSignal(now)
                queue.append((step, end))
                settles = len(queue) >= depth or not (executed or engine.has_requests())
            if settles:
                step, end = queue.popleft()
                now = yield end
                self._settle(engine.finish(step), now)
            if not load.lockstep:
                continue
            unfinished = engine.has_unfinished()
            if not executed:
                if not unfinished and not self._running:
                    continue
                self._dummies += 1
                now = yield lane.launch(member, now, load.step_time(StepWork(tokens=1)))
            counter += 1
            if counter == 1 or counter % MEETING_STEPS == 0:
                now = yield self._meeting.join(now, says=unfinished)
                counter = counter if self._meeting.verdict else 0

    def _conclude(self, unfinished: bool) -> bool:
        """True if engines in step go on."""
        self._running = unfinished or any(self._inbox)
        return self._running

    def _settle(self, tokens: list[tuple[int, int, bool]], now: float) -> None:
        """Write down the tokens of a step; a user whose answer is complete sends the next request."""
        for index, number, done in tokens:
            answer = self._answers[index]
            if number:
                answer.first = answer.first if answer.tokens else now
                answer.last, answer.tokens = now, answer.tokens + number
                self._emitted.append((now, number))
            if done:
                answer.done = True
                self._flying[self._placed.pop(index)] -= 1
                if self.load.users:
                    self._clock.at(now, self._send)

    def _figures(self) -> dict[str, float]:
        """Figures of the measured requests; tokens a second from the first to the one after the last."""
        load = self.load
        measured = self._answers[load.warm : load.warm + load.requests]
        begin, end = measured[0].sent, self._answers[load.warm + load.requests].sent
        produced = sum(number for at, number in self._emitted if begin < at <= end)
        first = sorted(answer.first - answer.sent for answer in measured)
        later = sorted(
            (answer.last - answer.first) / (answer.tokens - 1) for answer in measured if answer.tokens > 1
        )
        values = [produced / (end - begin)]
        values += [quantile(times, share) for times in (first, later) for share in QUANTILES]
        preempted = sum(engine.preemptions for engine in self._engines)
        values += [self._steps, self._dummies, preempted, self._decoded / max(self._steps, 1)]
        return dict(zip(FIGURES, values, strict=True))


def prompt_of(request: LoadRequest) -> list[int]:
    """Tokens of a prompt; those that others share are the same numbers."""
    shared = min(request.shared, request.input_len - 1)
    first, before = (request.index + 1) * LONGEST, -(request.group + 1) * LONGEST
    return [*range(before, before + shared), *range(first, first + request.input_len - shared)]


def answer_loads(made: Callable[[str], Callable[[ServingLoad], Sequence[ReleasedEngine]]]) -> None:
    """Answer each load of the standard input with its figures, or with what went wrong.

    Args:
        made: Takes the folder of the model's configuration, and gives what makes the engines of a load.
    """
    replies, sys.stdout = sys.stdout, sys.stderr  # what the package prints is no reply
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(MODEL), encoding="utf-8")
        engines_of = made(folder)
        for line in sys.stdin:
            load = ServingLoad.from_row(json.loads(line))
            try:
                reply: dict[str, object] = dict(EngineFleet(load, engines_of(load)).serve())
            except Exception as error:  # noqa: BLE001  # one load must not cost the others
                reply = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(reply), file=replies, flush=True)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value that a share of a hundred does not exceed, between neighbours by a straight line."""
    if not ordered:
        return float("nan")
    at = (len(ordered) - 1) * share / 100
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])
