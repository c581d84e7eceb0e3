"""A server measured under a load: one start, as few probes as decide, the same requests for all."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from threading import Event

from kg.nouns.entities import Better, Status
from recommender.tune import quality
from recommender.tune.confirmation import APART
from recommender.tune.engine_process import LaunchPlace, StartError
from recommender.tune.http_stream import AnswerError
from recommender.tune.limits import LatencyLimit
from recommender.tune.load import Load, LoadKind, LoadResult
from recommender.tune.load_client import LoadClient
from recommender.tune.serving_run import REPEATS, Probe, ServingRun
from recommender.tune.tune_result import TuneObjective, TuneResult, TuneStart

BAR = 1.05
"""A candidate is probed first at this times the incumbent's rate; SGLang's and the design's own choice."""
_MOST_PROBES = 12
_ALONE = 10
"""Requests of one user that show whether any load can keep the limits; a choice."""
_LEAST_LOAD = 0.2
"""Users at a time below which a lower rate changes nothing; a choice."""
_QUEUES = 5.0
"""Times the largest limit that a probe lasts at least: a shorter burst hides a queue that grows. A choice."""
_NOTHING = 1e-3
"""Tokens a second where no request stays within the limits: all such are alike, and ratios stay numbers."""
_SECOND = 0.9
"""A first probe below this part of the incumbent's value drops a candidate; else a second one counts too."""


@dataclass(slots=True, kw_only=True)
class ServingEvaluator:
    """Measures configurations of a server.

    Attributes:
        place: What starts it.
        load: What is put on it.
        limits: Limits on its latencies.
        ready_url: Answers once it is ready; empty for the engine's own.
        accuracy: The user's command that says whether accuracy is kept; empty for none.
        seed: Of the requests.
        words_per_token: Words of a prompt in a token, once the first start has told.
        count: Requests of a probe of a closed loop, once it has told.
        repeats: Disturbed probes that may yet be repeated.
        client: Puts the load in place of tunegraph's own client; None for that one.
        on_event: Told what happens, for the journal.
    """

    place: LaunchPlace
    load: Load
    limits: Sequence[LatencyLimit] = ()
    ready_url: str = ""
    accuracy: str = ""
    seed: int = 0
    words_per_token: float | None = None
    count: int = 0
    repeats: int = REPEATS
    client: LoadClient | None = None
    on_event: Callable[[str, Mapping[str, object]], None] = field(default=lambda _name, _facts: None)

    @property
    def objective(self) -> TuneObjective:
        """Objective under this load."""
        return serving_objective(self.load, self.limits)

    def evaluate(self, start: TuneStart, cancel: Event) -> TuneResult:
        """See :class:`TuneEvaluator`."""
        began = time.monotonic()
        run: ServingRun | None = None
        try:
            with ServingRun.of(
                self.place, start.edits, start.number,
                limits=self.limits, cancel=cancel, ready_url=self.ready_url,
            ) as run:  # fmt: skip
                loaded = time.monotonic()
                run.repeats = self.repeats
                words = self.words_per_token or run.words_per_token()
                users = int(self.load.value) if self.load.kind is LoadKind.CONCURRENCY else 2
                idle_s = run.warm_up(self.load, words, min(users, 16))
                if self.words_per_token is None:
                    self.words_per_token, self.count = words, self.load.count(users / max(idle_s, 1e-6))
                    self.on_event("calibrated", {"words_per_token": words, "count": self.count})
                value, dropped = (
                    self._searched(run, start.bar, idle_s)
                    if start.seed is None
                    else (self._compared(run, start.seed, start.rates), "")
                )
                load_s = time.monotonic() - loaded
                found = again = quality.ServerAnswers(())
                if value is not None and self._is_judged(start, value):
                    found = again = quality.answers(run.address, run.model, cancel)
                    is_script = not any(True for _ in start.edits.each())
                    if is_script:
                        again = quality.answers(run.address, run.model, cancel, at_once=True)
                    if self.accuracy and not is_script:
                        quality.judge(self.accuracy, run.address, run.model, self.place, cancel)
        except (StartError, AnswerError) as fault:
            return TuneResult(
                status=Status.FAILED,
                reason=str(fault) if run is None else run.address.covered(str(fault)),
                probes=0 if run is None else len(run.probes),
                void=() if run is None else tuple(run.void),
                cost_s=time.monotonic() - began,
            )
        probes, self.repeats = run.probes, run.repeats
        best = max(
            (item for item in probes if item.kept), key=lambda item: item.rate or 0.0, default=probes[-1]
        )
        return TuneResult(
            value=value,
            reason=dropped,
            is_dropped=value is None,
            kept=best.kept,
            nearest=max(item.attainment for item in probes),
            probes=len(probes),
            void=tuple(run.void),
            disturbed=sum(bool(item.disturbed) for item in probes),
            others=_others(best.result),
            answers=found.texts,
            tokens=found.tokens,
            wavers=found.texts != again.texts,
            wavering=quality.spread(found.distances(again)),
            ready_s=run.ready_s,
            cost_s=time.monotonic() - began,
            load_s=load_s,
        )

    def _is_judged(self, start: TuneStart, value: float) -> bool:
        """True if answers matter: the configuration is new, and may be better than the best."""
        is_new = start.seed is None and not start.is_repeat
        return is_new and (start.bar is None or self.objective.gain(value, start.bar) >= 1)

    def _searched(self, run: ServingRun, bar: float | None, idle_s: float) -> tuple[float | None, str]:
        """The value of a run, or why it is dropped: it is below the bar."""
        if self.load.kind is LoadKind.FIND:
            return self._highest(run, bar, idle_s)
        value = self._value(self._fixed(run, self.seed).result)
        if bar is None:
            return value, ""
        if self.objective.gain(value, bar) < _SECOND:
            return None, f"{value:.4g} {self.objective.unit} in its first probe, the best has {bar:.4g}"
        return math.sqrt(value * self._value(self._fixed(run, self.seed + 1).result)), ""

    def _compared(self, run: ServingRun, seed: int, rates: tuple[float, ...]) -> float:
        """The value of a run beside that of another, with the same requests; two of three rates tell it."""
        if not rates:
            return self._value(self._fixed(run, seed).result)
        low, middle, high = rates
        first = self._offered(run, seed, middle)
        other = self._offered(run, seed, high if first.kept else low)
        return _interpolated([first, other] if first.kept else [other, first], self.limits)

    def _fixed(self, run: ServingRun, seed: int) -> Probe:
        """A probe at the load that was asked for."""
        if self.load.kind is LoadKind.RATE:
            return self._offered(run, seed, self.load.value)
        return self._probe(run, seed, self.count, users=int(self.load.value))

    def _offered(self, run: ServingRun, seed: int, rate: float) -> Probe:
        """A probe at a rate, long enough that a queue shows."""
        longest = _QUEUES * max((limit.bound_s for limit in self.limits), default=0.0)
        count = replace(self.load, least_s=max(self.load.least_s, longest)).count(rate)
        return self._probe(run, seed, count, rate=rate)

    def _probe(
        self, run: ServingRun, seed: int, count: int, *, rate: float | None = None, users: int | None = None
    ) -> Probe:
        """A probe by tunegraph's own client, or by that of the user."""

        def put(salt: int) -> LoadResult:
            if self.client is None:
                drawn = self.load.draw(seed, self.words_per_token or 1.0, count=count, salt=salt)
                return run.put(drawn, rate=rate, users=users)
            out = run.process.log.parent / f"load-{salt}"
            return self.client.put(
                run, self.place, out, count=count, seed=seed + salt, rate=rate, users=users
            )

        return run.probe(put, rate)

    def _value(self, result: LoadResult) -> float:
        """The objective of a probe at a fixed load; above zero, so that ratios can be taken."""
        if self.objective.better is Better.LOWER:
            return result.mean_e2e_s
        if not self.limits:
            return result.tokens_per_s
        good = [item for item in result.ended if all(limit.is_kept(item) for limit in self.limits)]
        return max(_NOTHING, sum(item.tokens for item in good) / max(result.wall_s, 1e-9))

    def _highest(self, run: ServingRun, bar: float | None, idle_s: float) -> tuple[float | None, str]:
        """The highest rate that keeps the limits; of a candidate only if it keeps more than the bar."""
        if bar is None:
            alone = self._probe(run, self.seed, _ALONE, users=1)  # what one user misses, any load does
            if not alone.kept:
                limits = {limit.text.split("<")[0].strip(): limit for limit in self.limits}
                found = {name: alone.result.percentile(it.metric, it.share) for name, it in limits.items()}
                told = ", ".join(f"{name} is {value:.3g} s" for name, value in found.items() if value)
                return None, f"it misses the limits even for one user at a time, where {told or 'all fail'}"
        low, high = 0.0, math.inf
        rate = 1 / max(idle_s, 1e-3) if bar is None else BAR * bar
        step = 2.0 if bar is None else 1.3
        for _ in range(_MOST_PROBES):
            probe = self._offered(run, self.seed, rate)
            if probe.kept:
                low = rate
            else:
                high = rate
                if bar is not None and not low:
                    return None, f"it misses the limits at {rate:.3g} requests/s, the best keeps {bar:.3g}"
            if high < APART * low or high * idle_s < _LEAST_LOAD:
                break
            rate = rate * step if math.isinf(high) else high / 2 if not low else math.sqrt(low * high)
        return (low or None), "" if low else f"it misses the limits down to {rate:.3g} requests/s"


def serving_objective(load: Load, limits: Sequence[LatencyLimit]) -> TuneObjective:
    """Objective under a load."""
    if load.kind is LoadKind.FIND:
        text = "requests a second within the limits"
        return TuneObjective(
            metric="throughput", better=Better.HIGHER, unit="requests/s", text=text, is_rate=True
        )
    if load.kind is LoadKind.RATE and not limits:
        text = "mean latency of a request"
        return TuneObjective(metric="e2e_latency", better=Better.LOWER, unit="s", text=text)
    text = "tokens a second" + (" of requests within the limits" if limits else "")
    return TuneObjective(metric="throughput", better=Better.HIGHER, unit="tokens/s", text=text)


def _interpolated(probes: Sequence[Probe], limits: Sequence[LatencyLimit]) -> float:
    """The rate at which the limits are just kept, between rates that were probed, on a logarithmic scale.

    Beyond the last rate that was probed nothing is claimed: the ends count as they are.
    """
    spare = [
        min((found - limit.share for found, limit in zip(probe.shares, limits, strict=True)), default=0.0)
        for probe in probes
    ]
    rates = [probe.rate or 1.0 for probe in probes]
    spare = list(accumulate(spare, min))  # more load is never easier: what looks so is noise
    if spare[0] < 0:
        return rates[0] * (1 + spare[0])
    for place in range(1, len(spare)):
        if spare[place] < 0:
            part = spare[place - 1] / (spare[place - 1] - spare[place])
            return math.exp((1 - part) * math.log(rates[place - 1]) + part * math.log(rates[place]))
    return rates[-1]


def _others(result: LoadResult) -> dict[str, float]:
    """Percentiles of the latencies, and what the client used."""
    if result.metrics:
        return {f"client_{name}": float(f"{value:.5g}") for name, value in result.metrics.items()}
    found: dict[str, float] = {}
    for metric in ("ttft", "tpot", "e2e"):
        for share in (0.5, 0.9, 0.99):
            value = result.percentile(metric, share)
            if value is not None:
                found[f"{metric}_p{100 * share:.0f}_s"] = float(f"{value:.4g}")
    found["tokens_per_s"] = float(f"{result.tokens_per_s:.5g}")
    found["send_lag_p99_s"] = float(f"{result.send_lag_s:.3g}")
    found["client_core_share"] = float(f"{result.cpu_share:.3g}")
    return found
