"""The ``outcome`` of a record: a value in SI units, or the reason why there is none."""

import math
import re
from dataclasses import dataclass

from ingest.door.values import JsonObject, check_storable
from kg.nouns.entities import Better, Measurement, Status, WorkloadKind
from kg.terms.metrics import METRICS, canonical_metric
from kg.terms.units import Dimension, Unit, unit

FAILURE_TIME = 1e20
"""Tuners that keep failures in the number field write this or more (Kernel Tuner before 0.4)."""

MAXIMUM_REPEATS = 10**9

_STATUSES = {
    "ok": (Status.OK, ""),
    "correct": (Status.OK, ""),
    "failed": (Status.FAILED, ""),
    "error": (Status.FAILED, ""),
    "timeout": (Status.TIMED_OUT, ""),
    "timed_out": (Status.TIMED_OUT, ""),
    "oom": (Status.OUT_OF_MEMORY, ""),
    "out_of_memory": (Status.OUT_OF_MEMORY, ""),
    "forbidden": (Status.FORBIDDEN, ""),
    "not_measured": (Status.NOT_MEASURED, ""),
    "winner_untimed": (Status.NOT_MEASURED, ""),
    "not_reported": (Status.UNKNOWN, ""),
    "unknown": (Status.UNKNOWN, ""),
}
_SAID = (
    (
        re.compile(r"out[ _-]?of[ _-]?memory|\bOOM\b|\bcannot allocate memory\b", re.IGNORECASE),
        Status.OUT_OF_MEMORY,
    ),
    (re.compile(r"\btime[ds]?[ _-]?out|timeout|deadline exceeded", re.IGNORECASE), Status.TIMED_OUT),
)
"""Words of allocators and schedulers in the reason of a failure, and the kind of failure that they mean."""
_POSITIVE = {
    Dimension.TIME,
    Dimension.ENERGY,
    Dimension.POWER,
    Dimension.MASS,
    Dimension.RATE,
    Dimension.FREQUENCY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOutcome:
    """The outcome that a record states.

    Attributes:
        metric: Canonical name.
        better: Direction of improvement.
        unit: The unit of the source; None if it names none.
        measurement: The value or the failure.
        is_winner: It is somebody's choice, without its time.
    """

    metric: str
    better: Better
    unit: Unit | None
    measurement: Measurement
    is_winner: bool

    @property
    def symbol(self) -> str | None:
        """SI symbol of the metric's unit."""
        return None if self.unit is None else self.unit.symbol

    def to_si(self, value: float) -> float:
        """A number in the unit of the source, in SI."""
        return value if self.unit is None else self.unit.to_si(value)


def read_outcome(
    raw: JsonObject, task_kind: object, faults: list[str], *, is_relative: bool = False
) -> RecordOutcome | None:
    """The outcome of a record; None if something is wrong, which is then in ``faults``.

    Args:
        raw: The section.
        task_kind: Kind of task that the record states.
        faults: Faults are added here.
        is_relative: The record has a baseline, so a plain ratio to it is a value of any metric.
    """
    before = len(faults)
    name = raw.get("metric")
    if not isinstance(name, str) or not name.strip():
        faults.append("outcome.metric: missing" if name is None else "outcome.metric: no name")
        return None
    if not name.isprintable():
        faults.append("outcome.metric: a name with control characters")
        return None
    metric = canonical_metric(name, WorkloadKind.KERNEL if task_kind == "kernel" else WorkloadKind.OPERATOR)
    reported = raw.get("unit")
    measured_in = _unit(reported, metric, faults, is_relative=is_relative)
    better = _better(raw.get("better"), metric, faults)
    status, reason = _status(raw, faults)
    value = raw.get("value")
    if isinstance(value, str) and value.strip().lower().lstrip("+") in {"inf", "infinity"}:
        value = math.inf
    number: float | None = None
    if value is not None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            faults.append("outcome.value: not a number")
        else:
            status, reason, number = _judge(value, status, reason, measured_in, faults)
    elif status is Status.OK and raw.get("status") is not None:
        faults.append("outcome.value: missing, though the status is ok")
    if number is not None and measured_in is None and reported is None:
        faults.append("outcome.unit: missing")
    if len(faults) > before or better is None or status is None:
        return None
    stdev, repeats = _spread(raw, measured_in, faults) if number is not None else (None, None)
    if len(faults) > before:
        return None
    symbol = measured_in.symbol if measured_in is not None and number is not None else None
    original = raw.get("reported_unit", reported)
    measurement = Measurement(
        metric=metric,
        unit=symbol,
        value=number,
        stdev=stdev,
        repeats=repeats,
        status=status,
        reason=reason,
        reported_unit=original if isinstance(original, str) and symbol and original != symbol else "",
    )
    return RecordOutcome(
        metric=metric,
        better=better,
        unit=measured_in,
        measurement=measurement,
        is_winner=raw.get("status") == "winner_untimed",
    )


def _unit(raw: object, metric: str, faults: list[str], *, is_relative: bool) -> Unit | None:
    if raw is None:
        return None
    if not isinstance(raw, str):
        faults.append("outcome.unit: not text")
        return None
    try:
        found = unit(raw)
    except ValueError as fault:
        faults.append(f"outcome.unit: {fault}")
        return None
    known = METRICS.get(metric)
    if is_relative and found.symbol == "1":
        return found
    if known is not None and known.dimension is not found.dimension:
        faults.append(
            f"outcome.unit: {raw!r} is a unit of {found.dimension}, {metric} has one of {known.dimension}"
        )
    return found


def _better(raw: object, metric: str, faults: list[str]) -> Better | None:
    known = METRICS.get(metric)
    if raw is None:
        if known is None:
            faults.append(f"outcome.better: missing, and {metric[:40]!r} is no known metric")
            return None
        return known.better
    if raw not in ("lower", "higher"):
        faults.append(f"outcome.better: {str(raw)[:40]!r} is neither lower nor higher")
        return None
    better = Better(str(raw))
    if known is not None and known.better is not better:
        faults.append(f"outcome.better: of {metric}, {known.better} is better")
        return None
    return better


def _status(raw: JsonObject, faults: list[str]) -> tuple[Status | None, str]:
    text = raw.get("status", "ok" if raw.get("value") is not None else None)
    if not isinstance(text, str):
        faults.append("outcome.status: missing" if text is None else "outcome.status: not text")
        return None, ""
    head, _, reason = text.partition(":")
    found = _STATUSES.get(head.strip().lower())
    if found is None:
        faults.append(f"outcome.status: {text[:40]!r} is none of {', '.join(_STATUSES)}")
        return None, ""
    status, meaning = found
    stated = raw.get("reason")
    if stated is not None and not isinstance(stated, str):
        faults.append("outcome.reason: not text")
        return status, ""
    why = (stated or reason.strip() or meaning)[:2000]
    if status is Status.FAILED:
        status = next((kind for words, kind in _SAID if words.search(why)), status)
    if not (why.isascii() and why.isprintable()):
        try:
            check_storable(why)
        except ValueError as fault:
            faults.append(f"outcome.reason: {fault}")
    return status, why


def _judge(
    value: float, status: Status | None, reason: str, measured_in: Unit | None, faults: list[str]
) -> tuple[Status | None, str, float | None]:
    """The meaning of a number: a value, the mark of a failure, or an error."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        faults.append("outcome.value: NaN")
        return status, reason, None
    dimension = None if measured_in is None else measured_in.dimension
    if dimension is Dimension.TIME and number >= FAILURE_TIME:
        failed = Status.FAILED if status is Status.OK else status
        return failed, reason or f"a time of {number:g} marks a failure", None
    if math.isinf(number):
        faults.append("outcome.value: infinite")
        return status, reason, None
    if status is not Status.OK:
        if status is not None:
            faults.append(f"outcome.value: {number:g}, though the status is {status}")
        return status, reason, None
    if number < 0 and dimension is not Dimension.RATIO and dimension is not Dimension.TEMPERATURE:
        faults.append(f"outcome.value: {number:g} is negative")
    elif number == 0 and dimension in _POSITIVE:
        faults.append(f"outcome.value: a {dimension} of zero")
    converted = number if measured_in is None else measured_in.to_si(number)
    if not math.isfinite(converted) or (converted == 0 and number != 0):
        faults.append(f"outcome.value: {number:g} is beyond what can be converted")
    return status, reason, converted


def _spread(raw: JsonObject, measured_in: Unit | None, faults: list[str]) -> tuple[float | None, int | None]:
    stdev: float | None = None
    repeats: int | None = None
    std, n = raw.get("std"), raw.get("n")
    if std is not None:
        if isinstance(std, bool) or not isinstance(std, int | float) or not 0 <= std < math.inf:
            faults.append("outcome.std: no spread")
        else:
            stdev = float(std) if measured_in is None else measured_in.to_si(float(std))
    if n is not None:
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MAXIMUM_REPEATS:
            faults.append("outcome.n: no number of repeats")
        else:
            repeats = n
    return stdev, repeats
