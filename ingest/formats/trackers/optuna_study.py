"""Studies of Optuna in any storage: trials to cases.

Optuna keeps parameters and numbers; their metric and hardware are stated in user attributes
(``hardware``, ``kernel`` or ``op``, ``model``, ``metric``, ``unit``, ``problem_size``) or nowhere. Of a
study with several objectives each becomes a case of its own.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ingest.door.columns import quantity
from ingest.door.records import Records
from ingest.files.content import ContentError
from ingest.formats.trackers.experiments import case_or_fault, subject_of
from kg.errors import Fault
from kg.nouns.entities import Case, WorkloadKind
from kg.terms.metrics import METRICS, canonical_metric
from kg.terms.units import Dimension, unit

STATES = ("RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING")
"""In the order of Optuna's ``TrialState``."""

_RULED_OUT = {"restricted", "forbidden", "invalid", "infeasible", "invalidconfig", "constraint"}
"""Values of a trial's attribute ``status`` if it was pruned because it is outside of the restrictions."""

RECORD_ATTRIBUTE = "tunegraph"
"""Attribute of a study and its trials that holds the parts of a record for which Optuna has no place."""

_ABOUT_VALUES = ("metric", "metrics", "metric_name", "unit", "units", "direction")


@dataclass(slots=True, kw_only=True)
class OptunaTrial:
    """One trial.

    Attributes:
        number: In its study, from 0.
        state: One of ``STATES``.
        parameters: By name, decoded.
        values: By objective; None where there is none.
        attributes: Attributes that the user set.
    """

    number: int
    state: str
    parameters: dict[str, object] = field(default_factory=dict)
    values: dict[int, float | None] = field(default_factory=dict)
    attributes: dict[str, object] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Study:
    """One study without its trials.

    Attributes:
        name: As the user called it; empty if it is not stored.
        directions: By objective, ``lower`` or ``higher``.
        attributes: Attributes that the user set.
        metric_names: By objective, if set.
    """

    name: str
    directions: list[str]
    attributes: dict[str, object] = field(default_factory=dict)
    metric_names: list[str] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Name of the study in messages."""
        return f"study {self.name[:60]!r}" if self.name else "study"


def decode(internal: object, distribution: str) -> object:
    """The value of a parameter from the number that is stored: of a categorical one, its index.

    Raises:
        ContentError: The distribution is none, or the index points nowhere.
    """
    if isinstance(internal, bool) or not isinstance(internal, int | float):
        raise ContentError(f"a parameter's number is {str(internal)[:40]!r}")
    try:
        described = json.loads(distribution)
        kind, attributes = described["name"], described["attributes"]
        if kind == "CategoricalDistribution":
            place = int(internal)
            if place < 0 or place != internal:
                raise ContentError(f"{internal:g} is no index of a choice")
            value: object = attributes["choices"][place]
            return value
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError) as fault:
        if isinstance(fault, ContentError):
            raise
        raise ContentError(f"a parameter's distribution is not Optuna's: {distribution[:60]}") from fault
    if isinstance(kind, str) and kind.startswith("Int") and math.isfinite(internal):
        return int(internal)
    return internal


def study_cases(
    study: Study,
    trials: Iterable[OptunaTrial | Fault],
    records: Records,
    *,
    path: str,
    hints: Iterable[str] = (),
) -> Iterator[Case | Fault]:
    """A case for each objective of each trial that has ended.

    Args:
        study: The study.
        trials: Its trials; those still running are passed over and counted.
        records: Makes cases, takes guesses.
        path: File, for the source.
        hints: Names that may mention a device.
    """
    if isinstance(shared_record := study.attributes.get(RECORD_ATTRIBUTE), dict):
        yield from _record_cases(shared_record, study, trials, records)
        return
    facts = {key: item for key, item in study.attributes.items() if key not in _ABOUT_VALUES}
    try:
        about = subject_of(facts, records, name=study.name, hints=hints, what=study.place)
        objectives = [_objective(study, place, records) for place in range(len(study.directions))]
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))
        return
    for key in about.config:
        records.guess(f"{study.place}: attribute {key!r} is not understood and passed over")
    running = 0
    source = {"title": f"Optuna {study.place}", "path": path}
    for trial in trials:
        if isinstance(trial, Fault):
            yield trial
            continue
        if trial.state in ("RUNNING", "WAITING"):
            running += 1
            continue
        for place, outcome in enumerate(objectives):
            record = {
                "task": about.task,
                "hardware": about.hardware,
                "config": trial.parameters,
                "outcome": outcome | _outcome(trial, place),
                "source": source,
            }
            yield case_or_fault(records, f"{study.place}, trial {trial.number}", record)
    if running:
        records.guess(f"{study.place}: {running} trials that have not ended are passed over")


def _record_cases(
    about: dict[str, object], study: Study, trials: Iterable[OptunaTrial | Fault], records: Records
) -> Iterator[Case | Fault]:
    """The cases of a study that was written from cases (``optuna_writing``) or by a search.

    A search has several metrics, listed as ``outcomes``: those of its objectives, then those it limits.
    What a trial notes of each stands at the same place; null where nothing is known.
    """
    listed = about.get("outcomes")
    several = isinstance(listed, list)
    metrics = listed if isinstance(listed, list) else [about.get("outcome")]
    shared = {name: item for name, item in about.items() if name not in {"outcome", "outcomes"}}
    for trial in trials:
        if isinstance(trial, Fault):
            yield trial
            continue
        if trial.state in ("RUNNING", "WAITING"):
            continue
        own = trial.attributes.get(RECORD_ATTRIBUTE)
        parts = own if isinstance(own, dict) else {}
        noted_all = parts.get("outcomes")
        for place, outcome in enumerate(metrics):
            if several:
                noted = noted_all[place] if isinstance(noted_all, list) and place < len(noted_all) else None
                if noted is None and (isinstance(noted_all, list) or place >= len(study.directions)):
                    continue
            else:
                noted = parts.get("outcome")
            record = {
                "source": {"title": f"Optuna {study.place}"},
                **shared,
                **{name: item for name, item in parts.items() if name != "outcomes"},
                "config": trial.parameters,
                "outcome": {
                    **(outcome if isinstance(outcome, dict) else {}),
                    **(
                        {"value": trial.values.get(place), **noted}
                        if isinstance(noted, dict)
                        else _outcome(trial, place)
                    ),
                },
            }
            yield case_or_fault(records, f"{study.place}, trial {trial.number}", record)


def _objective(study: Study, place: int, records: Records) -> dict[str, object]:
    """Metric, unit and direction of an objective."""
    several = len(study.directions) > 1
    name = _of_objective(study.attributes, ("metric", "metrics", "metric_name"), place)
    if not name and place < len(study.metric_names):
        name = study.metric_names[place]
    symbol = _of_objective(study.attributes, ("unit", "units"), place)
    measured = quantity(name) if name else None
    if measured is not None:
        name, symbol = measured.metric, symbol or measured.unit
    if not name and symbol and _measures_time(symbol):
        name = "time"
        records.guess(f"{study.place}: values in {symbol!r} are taken as times")
    if not name:
        name = f"value_{place}" if several else "value"
        records.guess(f"{study.place}: does not say what its values measure; kept as {name!r}")
    if not symbol:
        symbol = "1"
        records.guess(f"{study.place}: does not name the unit of {name!r}; kept as a plain number")
        known = METRICS.get(canonical_metric(name, WorkloadKind.OPERATOR))
        if known is not None and known.dimension is not Dimension.RATIO:
            name = f"{name}_without_unit"
    return {"metric": name, "unit": symbol, "better": study.directions[place]}


def _of_objective(attributes: Mapping[str, object], names: tuple[str, ...], place: int) -> str:
    for name in names:
        item = attributes.get(name)
        if isinstance(item, list) and place < len(item):
            item = item[place]
        elif place > 0:
            continue
        if isinstance(item, str) and item:
            return item
    return ""


def _measures_time(symbol: str) -> bool:
    try:
        return unit(symbol).dimension is Dimension.TIME
    except ValueError:
        return False


def _outcome(trial: OptunaTrial, place: int) -> dict[str, object]:
    status = trial.attributes.get("status")
    reason = trial.attributes.get("reason", trial.attributes.get("fail_reason"))
    words = str(reason)[:500] if reason else ""
    match trial.state:
        case "COMPLETE":
            value = trial.values.get(place)
            if value is None or math.isnan(value):
                return {"value": None, "status": "failed", "reason": words or "complete without a value"}
            if math.isinf(value):
                return {"value": None, "status": "failed", "reason": words or f"a value of {value:g}"}
            return {"value": value, "status": "ok"}
        case "PRUNED" if isinstance(status, str) and status.lower() in _RULED_OUT:
            return {"value": None, "status": "forbidden", "reason": words or status}
        case "PRUNED":
            return {"value": None, "status": "not_measured", "reason": words or "pruned before its end"}
    words = words or (status if isinstance(status, str) else "")
    return {"value": None, "status": "failed", "reason": words[:500] or None}
