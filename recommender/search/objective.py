"""What a search asks for numbers: anything that takes a configuration and says what came out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kg.entities import Kind, Status
from kg.errors import TuningError
from recommender.search.evaluations import Evaluation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from threading import Event

    from kg.entities import Limit, Objective
    from kg.values import Settings


class CancelledError(TuningError):
    """An evaluation was stopped from outside; it is neither a success nor a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one configuration gave.

    Attributes:
        values: By metric, in SI; empty unless ``status`` is ok.
        stdev: Sample standard deviation over the repeats by metric, same unit; only what is known.
        repeats: How often it was measured on each input.
        status: What became of it.
        reason: Why it failed; empty if it did not.
        cost_s: Time it took, warm-up and all repeats included.
        by_input: Values on each input, where there are several.
        notes: What else is to be known of this evaluation, in words.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    stdev: Mapping[str, float] = field(default_factory=dict)
    repeats: int = 1
    status: Status = Status.OK
    reason: str = ""
    cost_s: float = 0.0
    by_input: tuple[Mapping[str, float], ...] = ()
    notes: tuple[str, ...] = ()

    def evaluation(
        self, configuration: Settings, objectives: Sequence[Objective], limits: Sequence[Limit]
    ) -> Evaluation:
        """The same for a search: a value an objective, then one a limit; what cannot be compared failed."""
        if self.status is not Status.OK:
            return self._failed(configuration, self.reason or "failed", objectives, limits)
        for objective in objectives:
            value = self.values.get(objective.metric)
            if value is None:
                return self._failed(configuration, f"no value of {objective.metric}", objectives, limits)
            if not value > 0:
                reason = f"{objective.metric} is {value:g}: ratios need values above zero"
                return self._failed(configuration, reason, objectives, limits)
        names = [*(item.metric for item in objectives), *(item.metric for item in limits)]
        return Evaluation(
            configuration=configuration,
            values=tuple(self.values.get(name) for name in names),
            stdev=tuple(self.stdev.get(name) for name in names),
            repeats=self.repeats,
            cost_s=self.cost_s,
        )

    def _failed(
        self, configuration: Settings, reason: str, objectives: Sequence[Objective], limits: Sequence[Limit]
    ) -> Evaluation:
        return Evaluation(
            configuration=configuration,
            values=(None,) * (len(objectives) + len(limits)),
            status=Status.FAILED if self.status is Status.OK else self.status,
            reason=reason,
            repeats=self.repeats,
            cost_s=self.cost_s,
        )


class Evaluator(Protocol):
    """Gives a search its numbers. Called from several threads at once where a search runs in parallel."""

    @property
    def kind(self) -> Kind:
        """How its numbers are known: measured or modelled."""

    def evaluate(self, configuration: Settings, cancel: Event) -> Outcome:
        """What a configuration gives; a configuration that cannot run is an outcome, not an error.

        Args:
            configuration: What to set.
            cancel: Set when the search is to stop at once.

        Raises:
            CancelledError: ``cancel`` was set.
            TuningError: Nothing can be evaluated at all: the program is missing, for instance.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """What is known of the accuracy that settings cost, where the evaluation does not measure it.

    Attributes:
        losses: By parameter and value: the loss as a share with its source, or None where it is unknown.
            Values that are not listed cost nothing.
    """

    losses: Mapping[str, Mapping[object, tuple[float, str] | None]] = field(default_factory=dict)

    def loss(self, configuration: Settings) -> tuple[float | None, str]:
        """Sum of the losses of a configuration, and what it rests on; None if any is unknown."""
        total, basis = 0.0, []
        for name, by_value in self.losses.items():
            if name not in configuration or configuration[name] not in by_value:
                continue
            known = by_value[configuration[name]]
            if known is None:
                return None, f"{name}={configuration[name]}: unknown"
            total += known[0]
            if known[1]:
                basis.append(f"{name}={configuration[name]}: {known[1]}")
        return total, "; ".join(basis)

    def unknown(self) -> list[tuple[str, object]]:
        """Settings whose loss nobody published."""
        return [
            (name, value)
            for name, by_value in self.losses.items()
            for value, known in by_value.items()
            if known is None
        ]
