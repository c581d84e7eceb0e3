"""Tables of runs that trackers export: the common parts of MLflow's and W&B's."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice

from ingest.door.columns import Quantity, quantity
from ingest.door.records import Records
from ingest.files.content import Content, ContentError
from ingest.files.csv_rows import csv_rows
from ingest.formats.trackers.experiments import case_or_fault, parse_number, subject_of
from kg.errors import Fault
from kg.nouns.entities import Case

LOOKED_AT = 1000
"""Rows that are looked at before it is decided whether a share is written as a percentage."""

_UNITLESS = {"mfu", "accuracy", "accuracy_loss"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One row.

    Attributes:
        name: Name of the run.
        status: ``ok``, ``failed`` or empty for one that has not ended.
        facts: Its settings and tags.
        hints: Texts that may mention a device.
    """

    name: str
    status: str
    facts: Mapping[str, object]
    hints: tuple[str, ...]


def run_cases(
    content: Content,
    records: Records,
    *,
    title: str,
    may_measure: Callable[[str], bool],
    run: Callable[[Mapping[str, str], frozenset[str]], Run],
) -> Iterator[Case | Fault]:
    """A case for each metric of each run that has ended.

    Args:
        content: The file.
        records: Makes cases, takes guesses.
        title: Title of the source.
        may_measure: Whether a column of this name can hold a result.
        run: Gives the run of a row, given the columns that hold results.
    """
    rows = csv_rows(content)
    first = list(islice(rows, LOOKED_AT))
    sample = [row for _, row in first if not isinstance(row, Fault)]
    metrics = _metrics(sample, may_measure, records)
    if sample and not metrics:
        names = ", ".join(name for name in sample[0] if may_measure(name))
        yield Fault(place="line 1", reason=f"no column is a metric with a unit, among: {names[:300]}")
        return
    source = {"title": title, "path": content.reference}
    columns = frozenset(metrics)
    for place, row in chain(first, rows):
        if isinstance(row, Fault):
            yield row
            continue
        found = run(row, columns)
        if not found.status:
            records.guess(f"{found.name}: has not ended, and is passed over")
            continue
        try:
            about = subject_of(found.facts, records, name="", hints=found.hints, what="runs")
            for column, measured in metrics.items():
                outcome = _outcome(row[column], column, measured, found.status)
                record = {
                    "task": about.task,
                    "hardware": about.hardware,
                    "config": about.config,
                    "outcome": outcome,
                    "source": source,
                }
                yield case_or_fault(records, f"{place}, {column}", record)
        except ContentError as fault:
            yield Fault(place=place, reason=str(fault))


def _outcome(cell: str, column: str, measured: Quantity, status: str) -> dict[str, object]:
    outcome: dict[str, object] = {"metric": measured.metric, "unit": measured.unit, "value": None}
    if status == "failed":
        return outcome | {"status": "failed", "reason": "the run did not finish"}
    if not cell or cell.lower() == "nan":
        return outcome | {"status": "not_reported"}
    return outcome | {"value": parse_number(cell, column), "status": "ok"}


def _metrics(
    sample: list[dict[str, str]], may_measure: Callable[[str], bool], records: Records
) -> dict[str, Quantity]:
    """The quantity of each column; of those without a unit only shares are recognised, by their size."""
    found: dict[str, Quantity] = {}
    for column in sample[0] if sample else ():
        measured = quantity(column.removeprefix("metrics.")) if may_measure(column) else None
        if measured is None:
            continue
        symbol = measured.unit
        if not symbol and measured.metric in _UNITLESS:
            largest = max((_size(row[column]) for row in sample), default=0.0)
            symbol = "%" if largest > 1 else "1"
            words = "percent" if largest > 1 else "a fraction"
            records.guess(f"column {column!r} goes up to {largest:g}: taken as {words}")
        if symbol:
            found[column] = Quantity(metric=measured.metric, unit=symbol)
        else:
            records.guess(f"column {column!r} names no unit for a {measured.metric}, and is passed over")
    return found


def _size(cell: str) -> float:
    try:
        return abs(float(cell))
    except ValueError:
        return 0.0
