"""The metadata of an experiment's log beside its design: how arms run, and what they try."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path  # noqa: TC003  its annotation says how JSON is read
from typing import TYPE_CHECKING, Any, Self

from kg.errors import InputError
from kg.nouns.codec import Empty, JsonNoun, in_json
from kg.nouns.values import Settings
from recommender.measuring.masking import masked, masked_environment, masked_words
from recommender.measuring.readings import OutputReading  # noqa: TC001  likewise

if TYPE_CHECKING:
    from collections.abc import Mapping


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
class ArmSubject(JsonNoun):
    """The subject of one arm.

    Attributes:
        recommendation: Id of the recommendation; empty if none.
        strategy: Id of the strategy; empty if none.
        bottleneck: Id of the bottleneck that it is for; empty if none.
        recipes: Ids of the recipes that a start configuration rests on.
        layout: Its parallel sizes; empty for a change.
    """

    recommendation: str = ""
    strategy: str = ""
    bottleneck: str = ""
    recipes: tuple[str, ...] = field(default=(), metadata=in_json(empty=Empty.OMITTED))
    layout: Settings = field(default_factory=Settings, metadata=in_json(empty=Empty.OMITTED))


_OF_SUBJECT = frozenset({"question", "arms", "configuration"})
"""Keys of a subject beside those of its only treatment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentSubject:
    """The subject of an experiment: a change, and the problem on which it is tried.

    Attributes:
        question: The problem as people put it (``ingest.questions.problems.KEYS``).
        single: What the treatment tries, where there is only one.
        arms: What each treatment tries, where there are several.
        configuration: Settings of the recommendation that is tried; None if it is none.
    """

    question: Mapping[str, object]
    single: ArmSubject = ArmSubject()
    arms: Mapping[str, ArmSubject] = field(default_factory=dict)
    configuration: Settings | None = None

    def of_arm(self, arm: str, *, is_only: bool) -> ArmSubject:
        """The subject of an arm; of several without subjects of their own, no strategy is known."""
        if self.arms:
            return self.arms.get(arm, ArmSubject())
        return self.single if is_only else replace(self.single, strategy="", recipes=(), layout=Settings())

    def changed(self, control: Settings) -> Settings:
        """The control with the settings of the recommendation.

        Raises:
            InputError: It sets nothing.
        """
        if self.configuration is None:
            raise InputError("the recommendation sets nothing")
        return Settings({**control, **self.configuration})

    def to_json(self) -> dict[str, object]:
        """The subject as JSON."""
        content: dict[str, object] = {"question": dict(self.question)}
        if self.arms:
            return {**content, "arms": {name: item.to_json() for name, item in self.arms.items()}}
        if self.configuration is not None:
            content["configuration"] = self.configuration.to_json()
        return {**content, **self.single.to_json()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`.

        Raises:
            KeyError, TypeError: It is none.
        """
        configuration = content.get("configuration")
        return cls(
            question=content["question"],
            single=ArmSubject.from_json({k: v for k, v in content.items() if k not in _OF_SUBJECT}),
            arms={name: ArmSubject.from_json(item) for name, item in content.get("arms", {}).items()},
            configuration=None if configuration is None else Settings(configuration),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentMetadata:
    """The first line of a log without its design.

    Attributes:
        runs: How its arms are run; None where measurements made elsewhere were recorded.
        subject: What it tries; None where that is not known.
        machine: Where it was begun.
    """

    runs: Runs | None = None
    subject: ExperimentSubject | None = None
    machine: Mapping[str, object] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """The metadata as JSON."""
        content: dict[str, object] = {"tried": self.subject.to_json() if self.subject else {}}
        if self.runs is not None:
            content["runs"] = self.runs.to_json()
        if self.machine:
            content["machine"] = dict(self.machine)
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`.

        Raises:
            KeyError, TypeError, ValueError: It is none.
        """
        runs, subject = content.get("runs"), content.get("tried")
        return cls(
            runs=Runs.from_json(runs) if runs else None,
            subject=ExperimentSubject.from_json(subject) if subject else None,
            machine=content.get("machine", {}),
        )
