"""One start of a server: proven to be ours, warmed up, probed with a load, and ended."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from threading import Event

from ingest.questions.patches.script_edits import ScriptEdits
from kg.errors import WorkspaceError
from recommender.tune import load as loads
from recommender.tune.disturbance import MachineTime, disturbance
from recommender.tune.engine_process import EngineProcess, LaunchPlace, StartError
from recommender.tune.http_stream import Address, AnswerError, answer_of, get_json
from recommender.tune.limits import LatencyLimit, are_kept, shares, verdict
from recommender.tune.load import Load, LoadResult, PlannedRequest
from recommender.tune.ports import free_port, holder_text, is_taken

_READY_S = 5.0
"""For one answer to whether it is ready, and whose it is; a choice."""
_FREE_S = 20.0
"""For a port to be free again after its server has ended."""
_WARM_S = 90.0
"""Longest warm-up: first requests compile on some devices. A choice."""
_WARM_ROUNDS = 6
_SETTLED = 0.9
"""A round of warm-up that takes this part of the one before, or more, is the last."""
_CALIBRATED = 64
REPEATS = 4
"""Probes in a row that are repeated for disturbance: a machine that is never quiet is measured as it is, the
least disturbed probe counts and is told as disturbed, and pairs of starts take care of the rest."""
_FAILED = 0.02
"""Part of the requests that may fail where no limit counts them; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One load on a running server.

    Attributes:
        result: What came of it.
        rate: Requests a second that were offered; None in a closed loop.
        kept: Whether the limits were kept; true without any.
        shares: Share of the requests within each limit.
        disturbed: Why it hardly counts; empty if it does.
    """

    result: LoadResult
    rate: float | None
    kept: bool
    shares: tuple[float, ...] = ()
    disturbed: str = ""

    @property
    def attainment(self) -> float:
        """The smallest share; 1 without limits."""
        return min(self.shares, default=1.0)


@dataclass(slots=True, kw_only=True)
class ServingRun:
    """A server that runs.

    Attributes:
        address: Where it answers.
        model: The name that it serves the model under.
        process: What was started.
        limits: Limits on its latencies.
        cancel: Ends what is under way when set.
        ready_s: From its start until it was ready.
        probes: Loads that were put on it.
        void: Probes that were repeated, with the reason.
        repeats: Disturbed probes that may yet be repeated; a quiet one gives new ones.
    """

    address: Address
    model: str
    process: EngineProcess
    limits: Sequence[LatencyLimit]
    cancel: Event
    ready_s: float = 0.0
    probes: list[Probe] = field(default_factory=list)
    void: list[str] = field(default_factory=list)
    repeats: int = REPEATS

    @classmethod
    @contextmanager
    def of(
        cls,
        place: LaunchPlace,
        edits: ScriptEdits,
        number: int,
        *,
        limits: Sequence[LatencyLimit],
        cancel: Event,
        ready_url: str = "",
    ) -> Iterator[ServingRun]:
        """Start a server and end it behind the block.

        Args:
            place: What starts it.
            edits: Its configuration.
            number: Of the start.
            limits: Limits on its latencies.
            cancel: Ends everything when set.
            ready_url: Answers once it is ready; empty for the engine's own.

        Raises:
            StartError: It ended, or did not get ready.
            WorkspaceError: The port is in other hands: nothing can be measured.
        """
        script, text = place.script, place.text(edits)
        name = f"tunegraph-{secrets.token_hex(6)}"
        if ready_url:
            whole = Address.of(ready_url)
            address = Address(host=whole.host, port=whole.port)
            paths: tuple[str, ...] = (whole.base or "/",)
        else:
            text, port = script.at(text, free_port(), name)
            address, paths = Address(port=port), script.engine.ready
        if is_taken(address.port):
            holder = holder_text(address.port) or "somebody else"
            raise WorkspaceError(
                f"port {address.port} is taken by {holder}, which tunegraph did not start",
                hint="end it yourself, or let the script listen on another port",
            )
        process = place.start(text, edits, number)

        def keyed() -> Address:  # a script may compute its key: it is known once the server runs
            return replace(address, key=process.argument(script.engine.key).split(",")[0])

        try:
            ready_s = process.wait_ready(
                lambda: any(_answers(keyed(), path, cancel) for path in paths),
                f"{address}{paths[0]}",
                silence_s=place.silence_s,
                cancel=cancel,
            )
            address = keyed()
            model = _proven(address, name, process, cancel)
            yield cls(
                address=address, model=model, process=process, limits=limits, cancel=cancel, ready_s=ready_s
            )
        finally:
            process.stop()
            _wait_free(address.port)
            process.before.wait_free(cancel)

    def words_per_token(self) -> float:
        """Words of ours in a token of its prompts, as it counts them; 1 where it does not tell."""
        one = loads.Load(kind=loads.LoadKind.CONCURRENCY, requests=1, input_len=_CALIBRATED, output_len=1)
        found = self.put(one.draw(0), users=1).records
        counted = found[0].prompt_tokens if found else 0
        return _CALIBRATED / counted if counted else 1.0

    def warm_up(self, load: Load, words_per_token: float, users: int) -> float:
        """Send requests like those to come until they take no less time than before; the last round's mean.

        Raises:
            StartError: It does not answer.
        """
        began, before = time.monotonic(), math.inf
        for number in range(_WARM_ROUNDS):
            drawn = load.draw(-1 - number, words_per_token, count=max(2, users))
            result = self.put(drawn, users=users)
            self.check_alive()
            if not result.ended:
                raise StartError(f"it answers no request: {result.records[0].error}")
            if result.mean_e2e_s > _SETTLED * before or time.monotonic() - began > _WARM_S:
                return result.mean_e2e_s
            before = result.mean_e2e_s
        return before

    def probe(self, put: Callable[[int], LoadResult], rate: float | None) -> Probe:
        """Put a load on it; a disturbed one is repeated.

        Args:
            put: Puts it, in words that no number gave before.
            rate: Requests a second of an open loop; None for a closed one.

        Raises:
            StartError: It ended under the load, or fails its requests.
        """
        tries: list[tuple[float, Probe]] = []
        smallest = min((item.bound_s for item in self.limits), default=None)
        while True:
            before = MachineTime.now(self.process.pids)
            result = put(len(self.probes) + len(self.void))
            self.check_alive()
            after = MachineTime.now(self.process.pids)
            parts = after.shares(before) if before is not None and after is not None else {}
            told = disturbance(result, parts, smallest)
            seen = verdict(result.records, self.limits) if self.limits and result.is_cut else None
            kept = not self.limits or (are_kept(result.records, self.limits) if seen is None else seen)
            probe = Probe(
                result=result,
                rate=rate,
                kept=kept,
                shares=tuple(shares(result.records, self.limits)),
                disturbed=told,
            )
            tries.append((max(parts.values(), default=0.0), probe))
            if not told:
                self.repeats = REPEATS
            if not told or not self.repeats:
                break
            self.repeats -= 1
            self.void.append(told)
            self._settle()
        _, chosen = min(tries, key=lambda item: (bool(item[1].disturbed), item[0]))
        failed = [item.error for item in chosen.result.records if item.error]
        if not self.limits and len(failed) > _FAILED * len(chosen.result.records):
            raise StartError(f"{len(failed)} of {len(chosen.result.records)} requests failed: {failed[0]}")
        self.probes.append(chosen)
        if not chosen.kept or chosen.result.is_cut:
            self._settle()
        return chosen

    def check_alive(self) -> None:
        """See that it has not ended.

        Raises:
            StartError: It has.
        """
        if end := self.process.end:
            raise StartError(f"it ended under the load ({end})")

    def _settle(self) -> None:
        """Wait until what was asked for and given up is worked off: an answer takes no more than before."""
        one = loads.Load(kind=loads.LoadKind.CONCURRENCY, requests=1, input_len=8, output_len=2).draw(0)
        until, best = time.monotonic() + _FREE_S, math.inf
        while time.monotonic() < until:
            result = self.put(one, users=1)
            if result.ended and result.wall_s >= _SETTLED * best:
                return
            best = min(best, result.wall_s or math.inf)

    def put(
        self, requests: Sequence[PlannedRequest], *, rate: float | None = None, users: int | None = None
    ) -> LoadResult:
        """Send requests by tunegraph's own client."""
        is_watched = bool(self.limits) and rate is not None
        return loads.put(
            self.address,
            self.model,
            requests,
            rate=rate,
            users=users,
            cancel=self.cancel,
            is_decided=lambda records: is_watched and verdict(records, self.limits) is not None,
        )


def _answers(address: Address, path: str, cancel: Event) -> bool:
    try:
        answer_of(address, path, timeout_s=_READY_S, cancel=cancel)
    except AnswerError:
        return False
    return True


def _proven(address: Address, name: str, process: EngineProcess, cancel: Event) -> str:
    """The name of the model on a server that is proven to be the one that was started.

    Raises:
        WorkspaceError: It is another one, or nothing proves it.
    """
    served: list[str] = []
    with suppress(AnswerError, KeyError, TypeError):
        content = get_json(address, "/v1/models", timeout_s=_READY_S, cancel=cancel)
        served = [str(item["id"]) for item in content["data"]]
    is_named = name in served
    is_held = process.holds(address.port)
    if is_held is False or not (is_named or is_held):
        holder = holder_text(address.port) or "a process that cannot be seen"
        raise WorkspaceError(
            f"port {address.port} is answered by {holder}, which tunegraph did not start",
            hint="end it yourself, or let the script listen on another port",
        )
    return name if is_named else next(iter(served), name)


def _wait_free(port: int) -> None:
    """See that nobody listens on a port any more.

    Raises:
        WorkspaceError: Somebody does.
    """
    until = time.monotonic() + _FREE_S
    while is_taken(port):
        if time.monotonic() > until:
            raise WorkspaceError(f"port {port} is still held after its server was ended: {holder_text(port)}")
        time.sleep(0.1)
