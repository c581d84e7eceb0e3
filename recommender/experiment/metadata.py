"""The metadata of an experiment's log beside its design: how arms run, and what they try."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kg.errors import InputError, UnknownEntityError
from kg.nouns.codec import Empty, JsonNoun, in_json, noun_of
from kg.nouns.knowledge import Strategy
from kg.nouns.values import Settings
from kg.triples.serialisation import from_graph
from recommender.experiment.metrics import readings_of
from recommender.measuring.masking import masked, masked_environment, masked_words
from recommender.measuring.readings import OutputReading
from recommender.ranking.change import Change

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kg.nouns.entities import Problem
    from kg.triples.graph import GraphStore

_KEPT = frozenset({"recommendation", "strategy", "bottleneck", "recipes", "layout", "configuration"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs(JsonNoun):
    """The way in which arms are run.

    Attributes:
        command: Program and arguments, or a text for the shell; None where each arm is a command itself.
        readings: Where its metrics stand; the first decides.
        folder: Where it runs.
        timeout_s: Time of one run at most.
        environment: Variables, which may hold placeholders.
        options: Flags of each arm, which stand for ``{options}`` in a text for the shell.
    """

    command: tuple[str, ...] | str | None
    readings: tuple[OutputReading, ...]
    folder: Path
    timeout_s: float = 600.0
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict, metadata=in_json(empty=Empty.OMITTED))

    @classmethod
    def reading(
        cls,
        command: tuple[str, ...] | str | None,
        metrics: Sequence[str] = (),
        patterns: Sequence[str] = (),
        *,
        better: str = "",
        folder: Path = Path(),
        timeout_s: float = 600.0,
    ) -> Self:
        """Runs of a command whose metrics stand as ``readings_of`` has them; the first decides."""
        readings = readings_of(metrics, patterns, better=better)
        return cls(command=command, readings=readings, folder=folder.absolute(), timeout_s=timeout_s)

    def masked(self) -> Self:
        """The same with its secrets masked, as a log keeps it."""
        command = self.command
        if command is not None:
            command = masked(command) if isinstance(command, str) else tuple(masked_words(command))
        return replace(
            self,
            command=command,
            environment=masked_environment(self.environment),
            options={arm: masked(text) for arm, text in self.options.items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentSubject(JsonNoun):
    """The subject of an experiment: changes, and the problem on which they are tried.

    Attributes:
        question: The problem as people put it (``ingest.questions.problems.KEYS``).
        single: What the treatment tries, where there is only one.
        arms: What each treatment tries, where there are several.
    """

    question: Mapping[str, object]
    single: Change = field(default_factory=Change)
    arms: Mapping[str, Change] = field(default_factory=dict)

    def of_arm(self, arm: str, *, is_only: bool) -> Change:
        """The change of an arm; of several without changes of their own, no strategy is known."""
        if self.arms:
            return self.arms.get(arm, Change())
        return self.single if is_only else replace(self.single, strategy="", recipes=(), layout=Settings())

    def changed(self, control: Settings) -> Settings:
        """The control with the settings of the recommendation.

        Raises:
            InputError: It sets nothing.
        """
        if not self.single.configuration:
            raise InputError("the recommendation sets nothing")
        return Settings({**control, **self.single.configuration})

    def to_json(self) -> dict[str, object]:
        """The subject as JSON."""
        content: dict[str, object] = {"question": dict(self.question)}
        if self.arms:
            return {**content, "arms": {name: _written(item) for name, item in self.arms.items()}}
        if self.single.id:
            content["configuration"] = self.single.configuration.to_json()
        return {**content, **_written(self.single)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`.

        Raises:
            InputError: A part is unknown.
            KeyError, TypeError: It is none.
        """
        rest = dict(content)
        question, arms = rest.pop("question"), rest.pop("arms", {})
        return cls(
            question=question,
            single=_read(rest),
            arms={name: _read(item) for name, item in arms.items()},
        )


def problem_subject(
    graph: GraphStore, question: Mapping[str, object], problem: Problem, strategy: str = ""
) -> ExperimentSubject:
    """The subject of a test on a problem, of a strategy or of settings.

    Args:
        graph: Knows strategies.
        question: The problem as people put it.
        problem: The problem itself.
        strategy: Id of the strategy; empty for settings alone.

    Raises:
        UnknownEntityError: The graph has no such strategy.
    """
    if not strategy:
        return ExperimentSubject(question=dict(question))
    try:
        from_graph(graph, Strategy, strategy)
    except UnknownEntityError:
        hint = "tunegraph kb query strategies-against, or kb add strategy"
        raise UnknownEntityError(f"no strategy named {strategy!r}", hint=hint) from None
    bottlenecks = list(problem.bottlenecks)
    bottleneck = bottlenecks[0] if len(bottlenecks) == 1 else ""
    return ExperimentSubject(question=dict(question), single=Change(strategy=strategy, bottleneck=bottleneck))


def _written(change: Change) -> dict[str, object]:
    """Fields of a change that a log keeps beside its configuration, which its arm has."""
    return {
        "recommendation": change.id,
        "strategy": change.strategy,
        "bottleneck": change.bottleneck,
        **({"recipes": list(change.recipes)} if change.recipes else {}),
        **({"layout": change.layout.to_json()} if change.layout else {}),
    }


def _read(content: Mapping[str, Any]) -> Change:
    """The inverse of :func:`_written`; what is missing is empty."""
    if unknown := content.keys() - _KEPT:
        raise InputError(f"unknown field {min(unknown)!r}")
    return Change(
        id=content.get("recommendation") or "",
        strategy=content.get("strategy") or "",
        bottleneck=content.get("bottleneck") or "",
        recipes=tuple(content.get("recipes", ())),
        layout=Settings(content.get("layout", {})),
        configuration=Settings(content.get("configuration") or {}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentMetadata(JsonNoun):
    """The first line of a log without its design.

    Attributes:
        subject: What it tries; None where that is not known.
        runs: How its arms are run; None where measurements made elsewhere were recorded.
        machine: Where it was begun.
    """

    subject: ExperimentSubject | None = field(
        default=None, metadata=in_json("tried", write=lambda subject: subject.to_json() if subject else {})
    )
    runs: Runs | None = field(default=None, metadata=in_json(empty=Empty.OMITTED))
    machine: Mapping[str, object] = field(default_factory=dict, metadata=in_json(empty=Empty.OMITTED))

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`, from the first line of a log.

        Raises:
            InputError: A part is missing, unknown or of another type.
        """
        return noun_of(
            cls, {name: content[name] for name in ("tried", "runs", "machine") if content.get(name)}
        )
