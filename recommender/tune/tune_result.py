"""Result of one start, of a tune of such starts, and the interface of what measures them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Protocol

from ingest.questions.patches.script_edits import ScriptEdits
from kg.nouns.codec import JsonNoun, in_json, noun_of
from kg.nouns.entities import Better, Status
from recommender.experiment.standing import ExperimentState
from recommender.experiment.verdict import Verdict
from recommender.tune.candidates import TuneChange
from recommender.tune.launch_script import joined
from recommender.tune.quality import QualityFinding, ServerAnswers


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneResult(JsonNoun):
    """One evaluation of a configuration: a start with its probes.

    Attributes:
        value: Of the objective; None where it failed or was dropped.
        status: What became of it.
        reason: Why it failed, or was dropped; empty if neither.
        is_dropped: Whether its first probe missed what the incumbent keeps.
        kept: Whether the limits were kept.
        nearest: The smallest share of requests within a limit; 1 without limits.
        probes: Loads that were put on it.
        void: Why probes were repeated.
        disturbed: Probes that count although they were disturbed.
        others: Further numbers by name, in seconds, tokens and parts.
        answers: To the fixed prompts.
        tokens: Of each answer, as :class:`ServerAnswers` has them.
        wavers: Whether it answers differently when it is asked twice.
        wavering: Mean distance of the tokens of each answer between the two times.
        ready_s: From its start until it was ready.
        cost_s: Time of all of it.
        load_s: Time that its loads ran, warm-up included.
    """

    value: float | None = None
    status: Status = Status.OK
    reason: str = ""
    is_dropped: bool = False
    kept: bool = True
    nearest: float = 1.0
    probes: int = 0
    void: tuple[str, ...] = ()
    disturbed: int = 0
    others: Mapping[str, float] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    tokens: tuple[tuple[Mapping[str, float], ...], ...] = ()
    wavers: bool = False
    wavering: tuple[float, ...] = ()
    ready_s: float = field(default=0.0, metadata=in_json(digits=3))
    cost_s: float = field(default=0.0, metadata=in_json(digits=3))
    load_s: float = field(default=0.0, metadata=in_json(digits=3))

    @property
    def replies(self) -> ServerAnswers:
        """Its answers."""
        return ServerAnswers(self.answers, self.tokens)

    @property
    def is_ok(self) -> bool:
        """True if it has a value."""
        return self.status is Status.OK and self.value is not None

    @property
    def is_within(self) -> bool:
        """True if it ran and kept the limits."""
        return self.status is Status.OK and self.kept


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneStart(JsonNoun):
    """A start of a configuration that is asked for.

    Attributes:
        edits: What it changes in the script.
        number: Of the evaluation, from 0: its log is kept under it.
        bar: Value of the incumbent; None for none.
        seed: Of the requests of a comparison, the same for both its sides; None in the search.
        rates: Rates at which the limits are looked at in a comparison; empty where one load decides.
        is_repeat: It ran before, so that its answers were judged.
    """

    edits: ScriptEdits = field(metadata=in_json(read=lambda content: noun_of(ScriptEdits, content)))
    number: int
    bar: float | None = None
    seed: int | None = None
    rates: tuple[float, ...] = ()
    is_repeat: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneObjective:
    """Objective of a tune.

    Attributes:
        metric: Canonical name.
        better: Its direction.
        unit: Symbol.
        text: In words.
        is_rate: Whether it is the highest rate that keeps limits.
    """

    metric: str
    better: Better
    unit: str
    text: str
    is_rate: bool = False

    def gain(self, value: float, than: float) -> float:
        """The factor by which a value is better than another."""
        if min(value, than) <= 0:
            return 0.0 if value <= 0 else float("inf")
        return value / than if self.better is Better.HIGHER else than / value


class TuneEvaluator(Protocol):
    """Starts a configuration and measures it."""

    @property
    def objective(self) -> TuneObjective:
        """The metric that the evaluations measure."""

    def evaluate(self, start: TuneStart, cancel: Event) -> TuneResult:
        """Measure a configuration.

        Args:
            start: What is started, and what it is measured against.
            cancel: Ends it when set.

        Raises:
            CancelledError: ``cancel`` was set.
            WorkspaceError: The machine does not let anything be measured.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneStep:
    """One evaluation of the search.

    Attributes:
        change: What was tried; None for the baseline.
        result: What it gave.
        gain: Factor over the incumbent; None without a value.
        is_accepted: Whether it became the incumbent.
        quality: What became of the answers; None where they were not compared.
        on: The machine on which it was tried beside the incumbent; empty for this one.
    """

    change: TuneChange | None
    result: TuneResult
    gain: float | None = None
    is_accepted: bool = False
    quality: QualityFinding | None = None
    on: str = ""

    @property
    def name(self) -> str:
        """The change that it tried."""
        return "the script as it is" if self.change is None else self.change.name


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOutcome:
    """The end of a tune.

    Attributes:
        steps: The evaluations of the search, the baseline first.
        accepted: The changes of the winner; none where nothing was better.
        edits: What the winner writes.
        state: Of its confirmation; None where none was run.
        why: Why it ended as it did, in words.
        starts: Starts in all.
        cost_s: Time of all of them.
        load_s: Time that loads ran in the search.
        quality: Of the winner's answers.
    """

    steps: tuple[TuneStep, ...]
    accepted: tuple[TuneChange, ...] = ()
    edits: ScriptEdits = field(default_factory=ScriptEdits)
    state: ExperimentState | None = None
    why: str = ""
    starts: int = 0
    cost_s: float = 0.0
    load_s: float = 0.0
    quality: QualityFinding | None = None

    def tried(self) -> Iterator[tuple[TuneStep, ScriptEdits]]:
        """The evaluations, each with what it wrote into the script."""
        best = ScriptEdits()
        for step in self.steps:
            edits = best if step.change is None else joined([best, step.change.edits])
            yield step, edits
            best = edits if step.is_accepted else best

    @property
    def verdict(self) -> Verdict | None:
        """Verdict of the confirmation; None where none was run."""
        return None if self.state is None else self.state.verdict

    @property
    def is_better(self) -> bool:
        """True if a winner is confirmed."""
        return self.verdict is Verdict.BETTER
