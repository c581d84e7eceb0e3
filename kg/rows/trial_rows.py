"""Rows of a trial store: a trial, a problem, and the table of a problem."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kg.nouns.entities import (
    Baseline,
    Better,
    Case,
    Configuration,
    Kind,
    Measurement,
    Objective,
    Status,
    Trust,
)
from kg.nouns.values import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One configuration of a problem and what came out; a case without its problem.

    Attributes:
        configuration: The settings.
        measurement: The result.
        kind: Kind of evidence.
        source_id: Id of the source in the graph.
        software: Framework and compiler versions, by name.
        strategy: Id of the strategy it is evidence for; empty if none.
        bottleneck: Id of the bottleneck the strategy was meant for; empty if none.
        baseline: The result it is compared with; None without one.
        trust: Trust in its source; kept with the source, so adding a row does not set it.
    """

    configuration: Configuration
    measurement: Measurement
    kind: Kind
    source_id: str
    software: Settings = field(default_factory=Settings)
    strategy: str = ""
    bottleneck: str = ""
    baseline: Baseline | None = None
    trust: Trust = Trust.MEDIUM

    @classmethod
    def of(cls, case: Case) -> Self:
        """Return a case without its problem."""
        return cls(
            configuration=case.configuration,
            measurement=case.measurement,
            kind=case.kind,
            source_id=case.source.id,
            software=case.software,
            strategy=case.strategy,
            bottleneck=case.bottleneck,
            baseline=case.baseline,
            trust=case.source.trust,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemRow:
    """A problem as the trial store describes it; the graph holds the rest.

    Attributes:
        origin: The device whose tables this device's are copies of; empty if they are its own, as far as
            is known. Evidence of a device and of its copies is evidence of one device.
        trust: That of the least trusted source of its rows.
    """

    key: int
    id: str
    task_id: str
    hardware: str
    count: int | None
    operator: str
    model: str | None
    metric: str
    better: Better
    origin: str = ""
    trust: Trust = Trust.MEDIUM

    @property
    def measured_on(self) -> str:
        """The device to which its evidence belongs."""
        return self.origin or self.hardware


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialTable:
    """The rows of one problem in its own metric, best first.

    Timed rows come first by cost, then winners published without a time, then unknown ones, then
    failures. A configuration measured twice has two rows, unless both say the same: then one is a copy.

    Attributes:
        configuration_ids: Shape (n,), int64; see ``TrialStore.configurations``.
        costs: Shape (n,), lower is better: the value in its SI unit, or its reciprocal where higher
            is better; inf for a failure; nan where nothing is known.
        statuses: Rows by result of the run.
        kinds: Rows by kind of evidence.
    """

    configuration_ids: NDArray[np.int64]
    costs: NDArray[np.float64]
    statuses: tuple[Status, ...]
    kinds: tuple[Kind, ...]

    def __len__(self) -> int:
        return len(self.statuses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Numbers of rows, problems and configurations in a trial store.

    Attributes:
        trials: Rows.
        problems: Problems that have rows.
        configurations: Different configurations.
        kinds: Rows by how they are known.
        statuses: Rows by what became of them.
    """

    trials: int
    problems: int
    configurations: int
    kinds: Mapping[Kind, int]
    statuses: Mapping[Status, int]


_STATUSES = {str(status): status for status in Status}
_KINDS = {str(kind): kind for kind in Kind}


def table_of(rows: Sequence[tuple[Any, ...]]) -> TrialTable:
    """Build a table from rows as ``trials_sql.TABLE`` selects them."""
    ids, costs, statuses, kinds, _ = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    return TrialTable(
        configuration_ids=np.array(ids, np.int64),
        costs=np.array(costs, np.float64),
        statuses=tuple(map(_STATUSES.__getitem__, statuses)),
        kinds=tuple(map(_KINDS.__getitem__, kinds)),
    )


def rank(trial: Trial, objective: Objective) -> tuple[int, float | None]:
    """Return the rank of a row in its table, and its cost; lower is better for both."""
    value = trial.measurement.value
    if value is not None:
        if objective.better is Better.LOWER:
            return 0, value
        return 0, 1 / value if value > 0 else math.inf
    if trial.measurement.status.cannot_run:
        return 3, math.inf
    return (1 if trial.kind in {Kind.WINNER, Kind.TARGET} else 2), None


def trial_of(row: Sequence[Any]) -> Trial:
    """Build a trial from a row as ``trials_sql.WHOLE`` selects it."""
    (configuration, metric, source_id, software, before, status, value, unit, stdev, repeats) = row[:10]
    (reason, reported_unit, kind, strategy, bottleneck, baseline, trust) = row[10:]
    return Trial(
        configuration=Settings(json.loads(configuration)),
        measurement=Measurement(
            metric=metric,
            unit=unit,
            value=value,
            stdev=stdev,
            repeats=repeats,
            status=Status(status),
            reason=reason,
            reported_unit=reported_unit,
        ),
        kind=Kind(kind),
        source_id=source_id,
        software=Settings(json.loads(software)),
        strategy=strategy,
        bottleneck=bottleneck,
        baseline=None
        if baseline is None
        else Baseline(value=baseline, configuration=Settings(json.loads(before))),
        trust=Trust(trust or Trust.MEDIUM),
    )
