"""An objective that is a Python function, for programs that search from within."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kg.errors import InputError
from kg.nouns.entities import Kind, Status
from recommender.measuring.outcome import RunOutcome

if TYPE_CHECKING:
    from threading import Event

    from kg.nouns.values import Settings


class Measure(Protocol):
    """A function that measures a configuration: returns a number, or one for each metric."""

    def __call__(self, configuration: Settings, /) -> float | Mapping[str, float]:
        """Measure one configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function as an objective.

    Attributes:
        measure: Called with a configuration; what it raises is a failure, except what would end a program.
        metric: Name of the number where it returns just one.
        repeats: Calls that count.
        warmup: Calls before those.
        kind: How its numbers are known.
    """

    measure: Measure
    metric: str
    repeats: int = 1
    warmup: int = 0
    kind: Kind = Kind.MEASURED

    def evaluate(self, configuration: Settings, cancel: Event) -> RunOutcome:  # noqa: ARG002  cannot be interrupted
        """Call it and average; a MemoryError is told as such.

        Raises:
            InputError: It returns neither a number nor numbers by name.
        """
        started = time.monotonic()
        collected: list[dict[str, float]] = []
        for _ in range(self.warmup + self.repeats):
            try:
                found = self.measure(configuration)
            except MemoryError as fault:
                return _failed(f"out of memory: {fault}", started)
            except Exception as fault:  # noqa: BLE001  whatever a user's function raises is data
                return _failed(f"{type(fault).__name__}: {fault}"[:300], started)
            named = found if isinstance(found, Mapping) else {self.metric: found}
            numbers = {}
            for name, value in named.items():
                if isinstance(value, bool) or not hasattr(value, "__float__"):
                    raise InputError(f"the function returns {type(value).__name__} for {name}, not a number")
                numbers[name] = float(value)
                if not math.isfinite(numbers[name]):
                    return _failed(f"{name} is {numbers[name]:g}", started)
            collected.append(numbers)
        counted = collected[self.warmup :]
        names = list(counted[0])
        return RunOutcome(
            values={name: statistics.fmean(item[name] for item in counted) for name in names},
            stdev={name: statistics.stdev(item[name] for item in counted) for name in names}
            if len(counted) > 1
            else {},
            repeats=len(counted),
            cost_s=time.monotonic() - started,
        )


def _failed(reason: str, started: float) -> RunOutcome:
    return RunOutcome(status=Status.FAILED, reason=reason, cost_s=time.monotonic() - started)
