"""An objective that is a recorded table: what was measured once is looked up again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from kg.entities import Kind, Status
from recommender.search.objective import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from threading import Event

    from kg.entities import Case
    from kg.values import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTable:
    """A table as an objective.

    Attributes:
        outcomes: What each configuration gave.
        kind: How its numbers are known.
    """

    outcomes: Mapping[Settings, Outcome]
    kind: Kind = Kind.MEASURED

    @classmethod
    def of(cls, cases: Iterable[Case]) -> Self:
        """The table of the cases of one problem or of several metrics of it; the first row of each counts."""
        values: dict[Settings, dict[str, float]] = {}
        failed: dict[Settings, str] = {}
        kind = Kind.MEASURED
        for case in cases:
            measurement, kind = case.measurement, case.kind
            if measurement.value is not None:
                values.setdefault(case.configuration, {}).setdefault(measurement.metric, measurement.value)
            elif measurement.status in {Status.FAILED, Status.FORBIDDEN}:
                failed.setdefault(case.configuration, measurement.reason or measurement.status.value)
        outcomes = {item: Outcome(values=found) for item, found in values.items()}
        outcomes |= {
            item: Outcome(status=Status.FAILED, reason=reason)
            for item, reason in failed.items()
            if item not in values
        }
        return cls(outcomes=outcomes, kind=kind)

    @property
    def configurations(self) -> tuple[Settings, ...]:
        """All that is in it."""
        return tuple(self.outcomes)

    def evaluate(self, configuration: Settings, cancel: Event) -> Outcome:  # noqa: ARG002  takes no time
        """Look a configuration up; one that is not there was not measured."""
        return self.outcomes.get(
            configuration, Outcome(status=Status.NOT_MEASURED, reason="not in the recorded table")
        )
