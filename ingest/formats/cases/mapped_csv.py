"""CSV tables that a mapping file explains (``ingest.formats.cases.mapping``)."""

from collections.abc import Iterator, Mapping

from ingest.door.records import Records
from ingest.door.values import parse_value
from ingest.files.content import Content, ContentError
from ingest.files.csv_rows import csv_rows, header_of
from ingest.files.sniffing import Head
from ingest.formats.cases.mapping import (
    MAPPING_FORMAT,
    SUFFIX,
    ColumnMapping,
    ResultColumn,
    load_mapping,
    mapping_beside,
    status_of,
)
from ingest.formats.format import Format
from ingest.formats.trackers.experiments import case_or_fault, parse_number
from kg.errors import Fault
from kg.nouns.entities import Case

UNMAPPED = "a CSV table in no format that is known; a mapping would explain it"


def sniff(head: Head) -> bool:
    """True if it is a table with a mapping beside it."""
    return is_table(head) and mapping_beside(head.path).is_file()


def is_table(head: Head) -> bool:
    """True if it is named and looks like a CSV table."""
    return head.name.lower().endswith(".csv") and not head.flaw and len(header_of(head.text)) > 1


def companion(head: Head) -> str:
    """The reason why a mapping, or a table without one, is not read by itself; empty for other files."""
    if head.name.endswith(SUFFIX) and MAPPING_FORMAT in head.text:
        return "the mapping of a table"
    return UNMAPPED if is_table(head) else ""


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each metric of each row."""
    try:
        mapping = load_mapping(records.context.mapping or mapping_beside(content.path))
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))
        return
    unused: frozenset[str] | None = None
    for place, row in csv_rows(content):
        if isinstance(row, Fault):
            yield row
            continue
        if unused is None:
            if missing := sorted(mapping.columns - set(row)):
                yield Fault(place="line 1", reason=f"no column {missing[0]!r}, which the mapping names")
                return
            unused = frozenset(row) - mapping.columns
            if unused:
                records.guess(f"columns that the mapping leaves out: {', '.join(sorted(unused))}"[:500])
        yield from _row(place, row, mapping, records, content.reference)


def _row(
    place: str, row: Mapping[str, str], mapping: ColumnMapping, records: Records, path: str
) -> Iterator[Case | Fault]:
    hardware = mapping.fill("hardware", row)
    if records.context.hardware:
        hardware.setdefault("name", records.context.hardware)
    if "count" in hardware:
        hardware["count"] = parse_value(hardware["count"])
    source = mapping.fill("source", row)
    if not any(source.get(name) for name in ("title", "repo", "url")):
        source["title"] = f"table {path.rpartition('/')[2]}"
    record: dict[str, dict[str, object]] = {
        "task": mapping.fill("task", row) | {"shape": mapping.fill("shape", row)},
        "hardware": hardware,
        "config": mapping.fill("config", row),
        "source": {"path": path} | source,
    }
    for metric in mapping.metrics:
        try:
            outcome = _outcome(row, metric, mapping)
        except ContentError as fault:
            yield Fault(place=f"{place}, {metric.column}", reason=str(fault))
            continue
        config = {**record["config"], **metric.config}
        of_column = record | {"config": config, "outcome": outcome}
        yield case_or_fault(records, f"{place}, {metric.column}", of_column)


def _outcome(row: Mapping[str, str], metric: ResultColumn, mapping: ColumnMapping) -> dict[str, object]:
    outcome: dict[str, object] = {"metric": metric.metric, "unit": metric.unit, "value": None}
    if metric.better is not None:
        outcome["better"] = metric.better
    word = row[mapping.status_column] if mapping.status_column else ""
    status = mapping.statuses.get(word, "" if word else "ok")
    if not status:
        raise ContentError(f"{mapping.status_column}: {word[:40]!r} is not explained by the mapping")
    if status != "ok":
        return outcome | {"status": status}
    if not (cell := row[metric.column]):
        return outcome | {"status": "not_reported"}
    ended = mapping.statuses.get(cell) or status_of(cell)
    if ended and ended != "ok":
        return outcome | {"status": ended}
    return outcome | {"value": parse_number(cell, metric.column), "status": "ok"}


FORMAT = Format(
    name="mapped-csv",
    title="CSV table with a mapping beside it (TABLE.mapping.yaml)",
    sniff=sniff,
    read=read,
    beside=None,
    companion=companion,
)
