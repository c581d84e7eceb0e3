"""The outcome of running a configuration, and the protocol of whatever runs one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Protocol

from kg.errors import TuningError
from kg.nouns.entities import Kind, Status
from kg.nouns.values import Settings


class CancelledError(TuningError):
    """An evaluation was stopped from outside; it is neither a success nor a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The values that running one configuration gave, or the reason why it failed.

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


class Evaluator(Protocol):
    """Gives numbers. Called from several threads at once where a search runs in parallel."""

    @property
    def kind(self) -> Kind:
        """Measured or modelled."""

    def evaluate(self, configuration: Settings, cancel: Event) -> RunOutcome:
        """Evaluate a configuration; one that cannot run is an outcome, not an error.

        Args:
            configuration: What to set.
            cancel: Set when it is to stop at once.

        Raises:
            CancelledError: ``cancel`` was set.
            TuningError: Nothing can be evaluated at all: the program is missing, for instance.
        """
