"""Tables of own measured runs: a row a run, as ``calibrate --steps`` takes them (docs/estimating.md)."""

from collections.abc import Iterator, Mapping

from ingest.door.records import Records
from ingest.door.values import parse_value
from ingest.files.content import Content, ContentError
from ingest.files.csv_rows import csv_rows, header_of
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.trackers.experiments import case_or_fault, parse_number
from kg.errors import Fault
from kg.nouns.entities import Case

_COLUMNS = {"model", "hardware", "count", "metric", "unit", "value"}
_OTHERS = {"server", "phase", "engine", "version", "source", "precision", "status"}
_SIZES = {"input_len", "output_len", "seq_len", "global_batch", "concurrency", "image_size"}
"""Columns of the work itself; what else stands in a row is a setting."""
_OPERATORS = {"serving": "serve", "training": "train"}


def sniff(head: Head) -> bool:
    """True if it has the table's columns."""
    return set(header_of(head.text)) >= _COLUMNS


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each row."""
    for place, row in csv_rows(content):
        if isinstance(row, Fault):
            yield row
            continue
        try:
            yield case_or_fault(records, place, _record(row, content.reference))
        except ContentError as fault:
            yield Fault(place=place, reason=str(fault))


def _record(row: Mapping[str, str], path: str) -> dict[str, object]:
    stated = {name: cell.strip() for name, cell in row.items() if cell and cell.strip()}
    phase = stated.get("phase", "serving")
    if phase not in _OPERATORS:
        raise ContentError(f"phase {phase!r}: expected serving or training")
    task: dict[str, object] = {
        "kind": phase,
        "op": _OPERATORS[phase],
        "model": stated.get("model"),
        "shape": {name: parse_value(stated[name]) for name in sorted(_SIZES & set(stated))},
    }
    if "precision" in stated:
        task["dtype"] = stated["precision"]
    hardware: dict[str, object] = {
        "name": stated.get("hardware"),
        "count": parse_value(stated.get("count", "")),
    }
    if "server" in stated:
        hardware["traits"] = {"server": stated["server"]}
    settings = set(stated) - _COLUMNS - _OTHERS - _SIZES
    outcome: dict[str, object] = {
        "metric": stated.get("metric"),
        "unit": stated.get("unit"),
        "status": stated.get("status", "ok"),
        "value": parse_number(stated["value"], "value") if "value" in stated else None,
    }
    record: dict[str, object] = {
        "task": task,
        "hardware": hardware,
        "config": {name: parse_value(stated[name]) for name in sorted(settings)},
        "outcome": outcome,
        "source": {"title": stated.get("source", "own runs"), "path": path},
    }
    if "engine" in stated:
        record["software"] = {stated["engine"]: stated.get("version", "")}
    return record


FORMAT = Format(name="runs-csv", title="table of own runs (CSV)", sniff=sniff, read=read)
