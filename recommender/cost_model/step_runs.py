"""Measured steps from a CSV: one run a row, its value beside what physics alone makes of it.

Columns: ``model``, ``hardware``, ``count``, ``metric``, ``unit``, ``value``, and where they are known
``server``, ``phase`` (serving if empty), ``engine``, ``version`` and ``source``. Every other column is a
setting by the name of the cost model or of the engine; an empty cell states nothing.
"""

import csv
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from types import MappingProxyType

from kg.atomic_files import read_text
from kg.errors import CaseFormatError, Fault, InputError, TuningError
from recommender.cost_model.anchors import UNANCHORED, MeasuredStep, shipped_anchors
from recommender.cost_model.estimate import class_spread, estimate_question, step_key
from recommender.cost_model.operators.kinds import shipped
from recommender.cost_model.question import Question
from recommender.cost_model.workloads.steps import Steps

MOST_BYTES = 64 << 20
NEEDED = ("model", "hardware", "count", "metric", "unit", "value")
KNOWN = (*NEEDED, "server", "phase", "engine", "version", "source")

TIMES = MappingProxyType({"s": 1.0, "ms": 1e-3, "us": 1e-6})
RATES = MappingProxyType({"tokens/s": False, "samples/s": False, "tokens/s/device": True})
"""Units of a rate, and whether they count one device."""
METRICS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "throughput": RATES, "prefill_throughput": RATES, "decode_throughput": RATES,
        "step_time": TIMES, "ttft": TIMES, "tpot": TIMES,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """One measured run of a whole step.

    Attributes:
        names: Model, hardware, server, phase, engine, version, source: as written, empty where not stated.
        count: Devices.
        metric: One of ``METRICS``.
        value: In seconds, or a rate of all devices.
        settings: By the names of the cost model or of the engine.
    """

    names: Mapping[str, str]
    count: int
    metric: str
    value: float
    settings: Mapping[str, str]


def read_runs(path: Path) -> list[StepRun]:
    """Runs of a CSV file.

    Raises:
        InputError: It cannot be read, lacks a column, or has one metric in several units.
        CaseFormatError: A row has a fault.
    """
    try:
        rows = list(csv.DictReader(StringIO(read_text(path, MOST_BYTES))))
    except csv.Error as fault:
        raise InputError(f"{path}: cannot be read: {fault}") from fault
    if not rows:
        raise InputError(f"{path}: no run in it", hint=f"a header with {', '.join(NEEDED)} and a row a run")
    lacking = [name for name in NEEDED if name not in rows[0]]
    if lacking:
        raise InputError(f"{path}: no column {lacking[0]}", hint=f"needed: {', '.join(NEEDED)}")
    units: dict[str, str] = {}
    runs = []
    for place, row in enumerate(rows, start=2):
        try:
            run = _run({name: (value or "").strip() for name, value in row.items() if name})
        except InputError as fault:
            fault_of_row = Fault(place=f"line {place}", reason=str(fault))
            raise CaseFormatError(str(path), [fault_of_row], hint=fault.hint) from fault
        unit = units.setdefault(run.metric, row["unit"].strip())
        if unit != row["unit"].strip():
            raise InputError(
                f"{path}: {run.metric} is in {unit} and, line {place}, in {row['unit'].strip()}",
                hint="one unit for each metric",
            )
        runs.append(run)
    return runs


def _run(row: Mapping[str, str]) -> StepRun:
    for name in NEEDED:
        if not row[name]:
            raise InputError(f"{name} is empty")
    metric, unit = row["metric"], row["unit"]
    if metric not in METRICS:
        raise InputError(f"no metric named {metric!r}", hint=f"known: {', '.join(METRICS)}")
    if unit not in METRICS[metric]:
        raise InputError(f"{metric}: no unit {unit!r}", hint=f"known: {', '.join(METRICS[metric])}")
    count, value = _positive("count", row["count"]), _positive("value", row["value"])
    if count != int(count):
        raise InputError(f"count: {row['count']} is no number of devices")
    factor = TIMES.get(unit) or (count if RATES[unit] else 1.0)
    settings = {name: cell for name, cell in row.items() if name not in KNOWN and cell}
    names = {name: row.get(name, "") for name in KNOWN if name not in {"count", "metric", "unit", "value"}}
    return StepRun(names=names, count=int(count), metric=metric, value=value * factor, settings=settings)


def _positive(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value > 0 and math.isfinite(value)):
        raise InputError(f"{name}: {text!r} is no number above 0")
    return value


def measured_steps(
    runs: list[StepRun],
    question_of: Callable[[StepRun], Question],
    *,
    name: str,
    site: str = "",
) -> tuple[MeasuredStep, ...]:
    """Runs beside their physics.

    Args:
        runs: From :func:`read_runs`.
        question_of: Looks up what a run is of.
        name: Of the file, for messages.
        site: The site that measured it.

    Raises:
        InputError, MissingFactError: A run cannot be estimated; the message says which.
    """
    plain = replace(shipped(), anchors=UNANCHORED)
    found = []
    for place, run in enumerate(runs, start=2):
        try:
            question = question_of(run)
            steps = estimate_question(question, operators=plain)
        except TuningError as fault:
            fault.args = (f"{name}: line {place}: {fault}", *fault.args[1:])
            raise
        source = run.names["source"] or f"{name}, line {place}"
        found.append(measured_step(question, steps, run.metric, run.value, source=source, site=site))
    return tuple(found)


def measured_step(
    question: Question, steps: Steps, metric: str, value: float, *, source: str, site: str = "", at: int = 0
) -> MeasuredStep:
    """A measured value of one configuration beside ``steps``, what physics makes of it."""
    modelled = modelled_value(steps, metric, at)
    ratio = math.log(value / modelled) * (1 if METRICS[metric] is TIMES else -1)
    where, phase = question.machine, question.phase
    key = step_key(question.model, where, phase, engine=question.engine)
    is_known = shipped_anchors().correction(key) is not None
    spread = 0.0 if is_known else class_spread(question.model, where, phase, question.engine)
    return MeasuredStep(key=replace(key, site=site), log_ratio=ratio, source=source, spread=spread)


def modelled_value(steps: Steps, metric: str, at: int = 0) -> float:
    """The value of a metric in an estimate, in seconds or as the rate of all devices.

    Raises:
        InputError: The estimate has no such metric.
    """
    if metric == "throughput":
        return float(steps.throughput[at])
    if metric == "step_time":
        return float(steps.time_s[at])
    name = metric if metric.endswith("throughput") else f"{metric}_s"
    if name not in steps.extra:
        raise InputError(f"{metric} is none of what an estimate of this phase has")
    return float(steps.extra[name][at])
