"""Measurements made elsewhere: tables, JSON and logs, as samples of an experiment.

A table has a row a measurement (columns ``arm`` and ``value`` or the metric's name; ``pair``, ``order`` or
``time``, ``status``, ``unit`` where they are known), or a row a pair (a column an arm). JSON is such rows, or
a list of values an arm. Two logs are one arm each, every match a value in the order printed.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kg.atomic_files import read_text
from kg.errors import CaseFormatError, Fault, InputError
from kg.nouns.entities import Status
from kg.nouns.values import load_json
from kg.terms.units import unit
from recommender.experiment.design import CONTROL
from recommender.experiment.samples import Sample
from recommender.experiment.schemes import Scheme, scheme_of
from recommender.measuring.readings import OutputReading
from recommender.measuring.user_patterns import SlowPatternError

ARM = ("arm", "variant", "group", "version", "config")
PAIR = ("pair", "round", "block")
ORDER = ("order", "time", "timestamp", "started", "step", "index")
STATUS, UNIT, VALUE = ("status",), ("unit",), ("value", "result", "measurement")

CONTROLS = ("control", "a", "baseline", "before", "base", "old")
TREATMENTS = ("treatment", "b", "candidate", "after", "optimized", "optimised", "new", "tuned")
"""Names by which a control and a treatment are recognised where they are not told."""

MOST_BYTES = 256 << 20
_GOOD = {"", "ok", "success", "passed", "true", "0", "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A measurement made elsewhere.

    Attributes:
        arm: Name of the arm, as the file has it.
        values: By metric, in SI where the unit is known.
        unit: Symbol of the deciding metric's unit after conversion; None if it was not told.
        pair: Label of its pair; None if it has none.
        order: When it was taken; None if that is not known.
        reason: Why it failed; empty if it did not.
    """

    arm: str
    values: Mapping[str, float]
    unit: str | None = None
    pair: str | None = None
    order: float | None = None
    reason: str = ""


def read_table(
    path: Path,
    metric: str,
    *,
    control: str = "",
    treatment: str = "",
    symbol: str | None = None,
    others: Sequence[str] = (),
    in_order: bool = False,
) -> list[Measured]:
    """The measurements of a CSV or JSON file.

    Args:
        path: The file.
        metric: Name of the metric that decides; a column of this name, or ``value``.
        control: Name of the control in the file; recognised by ``CONTROLS`` if empty.
        treatment: The same of the treatment.
        symbol: Unit of the numbers where the file does not say.
        others: Further metrics to read, by the names of their columns.
        in_order: The rows are in the order taken, as a file that grew is.

    Raises:
        InputError: The file cannot be read, has no such columns, or arms in different units.
        CaseFormatError: Every row that is wrong.
    """
    text = read_text(path, MOST_BYTES)
    rows = _csv_rows(text) if path.suffix.lower() in {".csv", ".tsv", ".txt"} else _json_rows(text, path)
    if not rows:
        raise InputError(f"{path}: no rows")
    columns = {key.lower(): key for row in rows for key in row}
    wide = _wide(columns, control, treatment)
    if wide is not None:
        rows = [
            {"arm": arm, "value": row.get(column), "pair": number, "unit": row.get(columns.get("unit", ""))}
            for number, row in enumerate(rows, 1)
            for arm, column in wide
        ]
        columns = {"arm": "arm", "value": "value", "pair": "pair", "unit": "unit"}
    found, faults = [], []
    value_column = _column(columns, (metric.lower(), *VALUE))
    arm_column = _column(columns, ARM)
    if value_column is None or arm_column is None:
        have = ", ".join(sorted(columns.values()))
        raise InputError(
            f"{path}: no column {'for the arm' if arm_column is None else 'of ' + metric}; it has {have}",
            hint=f"a row a measurement (arm, {metric}), or a row a pair (a column an arm)",
        )
    for number, row in enumerate(rows, 2):
        try:
            item = _measured(row, columns, arm_column, (metric, value_column), others, symbol)
            found.append(replace(item, order=float(number)) if in_order and item.order is None else item)
        except ValueError as fault:
            faults.append(Fault(place=f"row {number}", reason=str(fault)))
    if faults:
        raise CaseFormatError(str(path), faults)
    return found


def read_logs(control: Path, treatment: Path, readings: Sequence[OutputReading]) -> list[Measured]:
    """The measurements of two logs, one an arm; every line that has the deciding metric is one.

    Raises:
        InputError: A file cannot be read, or holds no value.
    """
    found = []
    for arm, path in ((CONTROL, control), ("treatment", treatment)):
        try:
            lines = read_text(path, MOST_BYTES).splitlines()
            values = [value for value in readings[0].read_lines(lines) if value]
        except SlowPatternError as fault:
            raise InputError(f"{path}: {fault}") from None
        if not values:
            where = readings[0].pattern or readings[0].path
            raise InputError(f"{path}: no line has {readings[0].metric} at {where!r}")
        symbol = readings[0].objective.unit
        found += [Measured(arm=arm, values={readings[0].metric: value}, unit=symbol) for value in values]
    return found


def samples_of(
    measured: Sequence[Measured], metric: str, *, control: str = "", treatment: str = "", warmup: int = 0
) -> tuple[list[Sample], Scheme, str | None]:
    """The samples of an experiment, how they were taken, and their unit.

    Args:
        measured: What was measured.
        metric: What decides.
        control: Name of the control in the file; recognised if empty.
        treatment: The same of the treatment.
        warmup: First measurements of each arm that do not count.

    Raises:
        InputError: There are not two arms, they have different units, or a value has no ratio.
    """
    names = _arms(measured, control, treatment)
    units = {name: {item.unit for item in measured if item.arm == name and item.values} for name in names}
    one, other = units[names[0]], units[names[1]]
    if len(one | other) > 1:
        said = [" and ".join(sorted(symbol or "no unit" for symbol in found)) for found in (one, other)]
        raise InputError(f"{metric} is in {said[0]} for {names[0]} and in {said[1]} for {names[1]}")
    kept = _counted([item for item in measured if item.arm in names], warmup)
    is_ordered = all(item.order is not None for item in kept)
    if is_ordered:
        kept.sort(key=lambda item: item.order or 0.0)
    else:
        kept.sort(key=lambda item: names.index(item.arm))
    labels = [item.pair for item in kept]
    scheme = scheme_of([item.arm for item in kept], labels, is_ordered=is_ordered)
    numbers: dict[tuple[str | None, int], int] = {}
    counts: dict[str, int] = {}
    samples = []
    for place, item in enumerate(kept):
        counts[item.arm] = counts.get(item.arm, -1) + 1
        key = (item.pair, 0) if item.pair is not None else (None, counts[item.arm])
        number = numbers.setdefault(key, len(numbers))
        value = item.values.get(metric)
        if value is not None and not value > 0:
            raise InputError(f"{metric} is {value:g} in {item.arm}: ratios need values above zero")
        samples.append(
            Sample(
                session=0,
                round=number,
                slot=place,
                arm=CONTROL if item.arm == names[0] else "treatment",
                runs=((dict(item.values),),) if not item.reason else (),
                status=Status.FAILED if item.reason else Status.OK,
                reason=item.reason,
                at_s=float(place),
            )
        )
    found = one | other
    return samples, scheme, next(iter(found)) if found else None


def _counted(measured: Sequence[Measured], warmup: int) -> list[Measured]:
    """All but the first of each arm."""
    seen: dict[str, int] = {}
    kept = []
    for item in measured:
        seen[item.arm] = seen.get(item.arm, 0) + 1
        if seen[item.arm] > warmup:
            kept.append(item)
    return kept


def _arms(measured: Sequence[Measured], control: str, treatment: str) -> tuple[str, str]:
    there = list(dict.fromkeys(item.arm for item in measured))
    lowered = {name.lower(): name for name in there}

    def chosen(told: str, usual: Sequence[str], option: str) -> str:
        if told:
            if told not in there:
                raise InputError(f"{option} {told!r} is none of the arms", hint=f"arms: {', '.join(there)}")
            return told
        known = [lowered[name] for name in usual if name in lowered]
        if not known:
            raise InputError(f"which arm is {option[2:]}?", hint=f"{option} with one of: {', '.join(there)}")
        return known[0]

    names = chosen(control, CONTROLS, "--control"), chosen(treatment, TREATMENTS, "--treatment")
    if names[0] == names[1]:
        raise InputError(f"control and treatment are both {names[0]}")
    return names


def _measured(
    row: Mapping[str, object],
    columns: Mapping[str, str],
    arm_column: str,
    deciding: tuple[str, str],
    others: Sequence[str],
    symbol: str | None,
) -> Measured:
    arm = str(row.get(arm_column) or "").strip()
    if not arm:
        raise ValueError("no arm")
    status_column = _column(columns, STATUS)
    status = str(row.get(status_column) or "").strip().lower() if status_column else ""
    unit_column = _column(columns, UNIT)
    told = str(row.get(unit_column) or "").strip() if unit_column else ""
    known = unit(told or symbol) if told or symbol else None
    raw = row.get(deciding[1])
    pair_column, order_column = _column(columns, PAIR), _column(columns, ORDER)
    pair = str(row[pair_column]) if pair_column and row.get(pair_column) not in {None, ""} else None
    order = _order(row.get(order_column)) if order_column else None
    if status not in _GOOD or raw in {None, ""}:
        reason = status if status not in _GOOD else "no value"
        return Measured(arm=arm, values={}, pair=pair, order=order, reason=reason)
    value = _number(raw, deciding[0])
    values = {deciding[0]: known.to_si(value) if known else value}
    for name in others:
        column = columns.get(name.lower())
        if column and row.get(column) not in {None, ""}:
            values[name] = _number(row[column], name)
    return Measured(arm=arm, values=values, unit=known.symbol if known else None, pair=pair, order=order)


def _order(raw: object) -> float | None:
    """A place in time: a number, or a date."""
    from datetime import datetime

    if raw in {None, ""}:
        return None
    try:
        return _number(raw, "order")
    except ValueError:
        return datetime.fromisoformat(str(raw)).timestamp()


def _number(raw: object, name: str) -> float:
    try:
        value = float(str(raw))
    except ValueError:
        raise ValueError(f"{name} is {str(raw)[:40]!r}, which is no number") from None
    if not math.isfinite(value):
        raise ValueError(f"{name} is {value:g}")
    return value


def _column(columns: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((columns[name] for name in names if name in columns), None)


def _wide(columns: Mapping[str, str], control: str, treatment: str) -> list[tuple[str, str]] | None:
    """The columns of a table with a row a pair; None if it is not one."""
    there = set(columns.values())
    one = control if control in there else None if control else _column(columns, CONTROLS)
    other = treatment if treatment in there else None if treatment else _column(columns, TREATMENTS)
    if one is None or other is None or one == other:
        return None
    return [(one, one), (other, other)]


def _csv_rows(text: str) -> list[dict[str, object]]:
    head = text.partition("\n")[0]
    separator = max(",;\t", key=head.count)
    reader = csv.DictReader(io.StringIO(text), delimiter=separator)
    try:
        return [
            {str(key).strip(): (value or "").strip() for key, value in row.items() if isinstance(value, str)}
            for row in reader
        ]
    except csv.Error as fault:
        raise InputError(f"no CSV: {fault}") from None


def _json_rows(text: str, path: Path) -> list[dict[str, object]]:
    """Rows of JSON lines, a list of rows, or a list of values an arm."""
    try:
        content = load_json(text)
    except ValueError:
        try:
            content = [load_json(line) for line in text.splitlines() if line.strip()]
        except ValueError as fault:
            raise InputError(f"{path}: neither JSON nor JSON lines ({fault})") from None
    if isinstance(content, dict) and isinstance(content.get("samples"), list):
        content = content["samples"]
    if isinstance(content, dict):
        rows: list[dict[str, object]] = []
        for arm, told in content.items():
            values = told.get("values") if isinstance(told, dict) else told
            if not isinstance(values, list):
                raise InputError(f"{path}: {arm} is no list of values", hint='{"A": [1.0, ...], "B": [...]}')
            symbol = told.get("unit") if isinstance(told, dict) else None
            rows += [{"arm": arm, "value": value, "unit": symbol} for value in values]
        return rows
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise InputError(f"{path}: expected rows or a list of values an arm")
    return [{str(key): value for key, value in row.items()} for row in content]
