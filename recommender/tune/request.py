"""The request of a tune: script, load and limits, budget, and what may be tried."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ingest.questions.trace import read_requests
from kg.errors import InputError
from kg.nouns.codec import JsonNoun
from kg.nouns.entities import Better
from kg.nouns.values import digest
from recommender.measuring.masking import has_mask, masked
from recommender.tune.engine import READY_S
from recommender.tune.engine_process import LaunchPlace
from recommender.tune.http_stream import Address
from recommender.tune.launch_script import LaunchScript
from recommender.tune.limits import LatencyLimit
from recommender.tune.load import Load, LoadKind
from recommender.tune.load_client import LoadClient
from recommender.tune.serving_evaluator import ServingEvaluator, serving_objective
from recommender.tune.starts.budget import Budget
from recommender.tune.starts.machines import machine_name
from recommender.tune.training_run import TrainingEvaluator, check_own_pattern, training_objective
from recommender.tune.tune_journal import TuneJournal
from recommender.tune.tune_result import TuneObjective

USERS = 16
"""Users at a time where neither a load nor limits are told; a choice."""
_EVALUATIONS = re.compile(r"(\d{1,6})\s*(?:evaluations?|starts?)")


def budget_of(texts: list[str], span: Callable[[str], float]) -> Budget:
    """Read ``"1h"``, ``"30 evaluations"``, or one of each.

    Raises:
        InputError: One is neither.
    """
    evaluations: int | None = None
    seconds: float | None = None
    for text in texts:
        if (found := _EVALUATIONS.fullmatch(text.strip())) is not None:
            evaluations = int(found[1])
        else:
            seconds = span(text)
    if evaluations == 0 or (seconds is not None and seconds <= 0):
        raise InputError("a budget of nothing", hint="--budget 1h, --budget '30 evaluations'")
    return Budget(evaluations=evaluations, seconds=seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneRequest(JsonNoun):
    """A request for a tune; all of it is kept, so that a tune can go on.

    Attributes:
        script: The script.
        script_digest: Of its text.
        folder: Where it is run.
        load: As it was written; empty for the usual one.
        limits: As they were written.
        trace: File of requests; empty for none.
        requests: Requests of a probe at least.
        probe_s: Time of a probe at least.
        input_len: Tokens of a prompt.
        output_len: Tokens of an answer.
        budget: What it may use.
        changes: What ``--change`` names; empty for what the plan and the script offer.
        ready: Where a command that nothing knows answers.
        start_s: A start that says nothing for so long is given up.
        accuracy: Command that says whether accuracy is kept.
        client: What puts the load in place of tunegraph's own client; empty for that one.
        trains: It is a training run.
        server: Number of the launch among several of the script; None for the only one.
        steps: Steps of a training run that count.
        line: Expression of the user's own number in its log.
        better: Direction of that number.
        alpha: Chance of a wrong verdict.
        margin: Log ratio that does not matter.
        seed: Of requests and orders.
        question: The question of the plan, as people put it.
        machines: How others that measure too are reached.
    """

    script: str
    script_digest: str
    folder: str
    load: str = ""
    limits: tuple[str, ...] = ()
    trace: str = ""
    requests: int = 100
    probe_s: float = 5.0
    input_len: int = 512
    output_len: int = 128
    budget: Budget = field(default_factory=Budget)
    changes: tuple[str, ...] = ()
    ready: str = ""
    start_s: float = READY_S
    accuracy: str = ""
    client: str = ""
    trains: bool = False
    server: int | None = None
    steps: int = 20
    line: str = ""
    better: str = "lower"
    alpha: float = 0.05
    margin: float = 0.01
    seed: int = 0
    question: Mapping[str, object] = field(default_factory=dict)
    machines: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse numbers out of range, and an expression that gives none.

        Raises:
            InputError: There is one.
        """
        counts = {"--requests": self.requests, "--input-len": self.input_len, "--output-len": self.output_len}
        for name, count in {**counts, "--steps": self.steps}.items():
            if count < 1:
                raise InputError(f"{name} {count}: 1 or more")
        check_own_pattern(self.line)
        if self.ready:
            Address.of(self.ready)
        names = [machine_name(text) for text in self.machines]
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"--on names {twice[0]} twice")
        if not 1e-6 <= self.alpha <= 0.2:
            raise InputError(f"an alpha of {self.alpha:g}", hint="0.01 or 0.05")

    def read_script(self, text: str | None = None) -> LaunchScript:
        """The script, as it was when the tune was begun.

        Args:
            text: Its text, where its file is on another machine.

        Raises:
            InputError: It cannot be read, has changed, or cannot be started here.
        """
        from ingest.questions.launches.launch_facts import read_text

        path = Path(self.script)
        found = LaunchScript.read(
            path,
            Path(self.folder),
            read_text(path) if text is None else text,
            ready=self.ready,
            trains=self.trains or bool(self.line),
            server=self.server,
        )
        if self.script_digest and found.digest != self.script_digest:
            raise InputError(
                f"{path} is not the script that this tune was begun with", hint="begin a new one"
            )
        return found

    def load_of(self) -> Load:
        """The load of a probe.

        Raises:
            InputError: It is none, or goes without the limits that it needs.
        """
        limits = self.latency_limits()
        kind, value = (LoadKind.FIND, 0.0) if limits else (LoadKind.CONCURRENCY, float(USERS))
        if self.load:
            kind, value = Load.parse(self.load)
        if kind is LoadKind.FIND and not limits:
            raise InputError("the highest rate needs limits to keep", hint="--limit 'ttft_p99<=2s'")
        shapes = tuple(read_requests(Path(self.trace))) if self.trace else ()
        return Load(
            kind=kind,
            value=value,
            requests=self.requests,
            least_s=self.probe_s,
            input_len=self.input_len,
            output_len=self.output_len,
            shapes=shapes,
        )

    def latency_limits(self) -> tuple[LatencyLimit, ...]:
        """Its limits."""
        return tuple(map(LatencyLimit.parse, self.limits))

    def load_client(self, script: LaunchScript) -> LoadClient | None:
        """Client of the load; None for tunegraph's own.

        Raises:
            InputError: It is none, is not installed, or limits go with it.
        """
        if not self.client:
            return None
        if self.limits or not script.is_server:
            raise InputError(
                f"--client {self.client}: it states no request one by one, by which limits are kept",
                hint="--load concurrency=64 or 20/s without --limit; or no --client",
            )
        return LoadClient.of(self.client, self.load_of(), script.model)

    def objective(self, script: LaunchScript) -> TuneObjective:
        """Objective of the tune."""
        if not script.is_server:
            return training_objective(self.line, Better(self.better))
        return serving_objective(self.load_of(), self.latency_limits())

    def evaluator(self, script: LaunchScript, journal: TuneJournal) -> ServingEvaluator | TrainingEvaluator:
        """Evaluator that starts and measures."""
        place = LaunchPlace(
            script=script,
            base=dict(os.environ),
            folder=journal.folder / "runs",
            mark=mark_of(journal.folder),
            silence_s=self.start_s,
        )
        if not script.is_server:
            better = Better(self.better)
            return TrainingEvaluator(place=place, steps=self.steps, line=self.line, better=better)
        made = ServingEvaluator(
            place=place,
            load=self.load_of(),
            limits=self.latency_limits(),
            ready_url=self.ready,
            accuracy=self.accuracy,
            seed=self.seed,
            client=self.load_client(script),
            on_event=lambda name, facts: journal.note(name, **facts),
        )
        if (before := journal.last("calibrated")) is not None:
            made.words_per_token, made.count = before["words_per_token"], before["count"]
        return made

    def unmasked(self, accuracy: str, client: str) -> TuneRequest:
        """The original request, with the commands whose secrets its journal does not keep.

        Raises:
            InputError: There is such a secret, and the command is not given again.
        """
        if (has_mask(self.accuracy) and not accuracy) or (has_mask(self.client) and not client):
            text = "its --accuracy or --client holds a secret, which the journal does not keep"
            raise InputError(text, hint="give it again")
        accuracy = accuracy if has_mask(self.accuracy) else self.accuracy
        return replace(self, accuracy=accuracy, client=client if has_mask(self.client) else self.client)

    def about(self) -> dict[str, object]:
        """The request as the journal keeps it, without secrets."""
        content = self.to_json()
        return content | {name: _masked(content.get(name)) for name in ("accuracy", "client", "question")}


def mark_of(folder: Path) -> str:
    """The mark of all that a tune starts."""
    return digest("tune", str(folder.resolve()))


def _masked(value: object) -> object:
    if isinstance(value, dict):
        return {key: _masked(item) for key, item in value.items()}
    return masked(value) if isinstance(value, str) else value
