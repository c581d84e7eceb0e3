"""An objective that is a recorded table: what was measured once is looked up again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ingest.reading import read
from kg.errors import InputError, UnknownEntityError
from kg.nouns.entities import Case, Kind, Status
from recommender.measuring.outcome import RunOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from threading import Event

    from kg.nouns.values import Settings
    from kg.triples.names import ResolvedModel


class PlainNames:
    """Names as they stand, for a table that is only looked up in."""

    def hardware_or_slug(self, text: str) -> tuple[str, bool]:
        """The name itself."""
        return text, True

    def model(self, text: str) -> ResolvedModel:
        """No model is known.

        Raises:
            UnknownEntityError: Always.
        """
        raise UnknownEntityError(text)


def read_cases(path: Path) -> list[Case]:
    """The cases of a file in any format that is read; all of one problem if metrics are left aside.

    Raises:
        InputError: Nothing reads it, or it holds several problems.
    """
    cases = [item for item in read([path], PlainNames()) if isinstance(item, Case)]
    shapes = {(case.problem.workload, case.problem.hardware) for case in cases}
    if not cases:
        raise InputError(f"{path}: no case could be read", hint="see why: tunegraph ingest --dry-run")
    if len(shapes) > 1:
        raise InputError(f"{path} holds {len(shapes)} problems; a table to search is of one")
    return cases


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTable:
    """A table as an objective.

    Attributes:
        outcomes: What each configuration gave.
        kind: How its numbers are known.
    """

    outcomes: Mapping[Settings, RunOutcome]
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
            elif measurement.status.cannot_run:
                failed.setdefault(
                    case.configuration, measurement.reason or measurement.status.value.replace("_", " ")
                )
        outcomes = {item: RunOutcome(values=found) for item, found in values.items()}
        outcomes |= {
            item: RunOutcome(status=Status.FAILED, reason=reason)
            for item, reason in failed.items()
            if item not in values
        }
        return cls(outcomes=outcomes, kind=kind)

    @property
    def configurations(self) -> tuple[Settings, ...]:
        """All that is in it."""
        return tuple(self.outcomes)

    def evaluate(self, configuration: Settings, cancel: Event) -> RunOutcome:  # noqa: ARG002  takes no time
        """Look a configuration up; one that is not there was not measured."""
        return self.outcomes.get(
            configuration, RunOutcome(status=Status.NOT_MEASURED, reason="not in the recorded table")
        )
