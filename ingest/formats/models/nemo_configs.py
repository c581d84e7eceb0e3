"""NVIDIA NeMo's recommended configurations: a choice for each model and machine, without a result.

They are winners without a time: a recommendation, of which no goal and no outcome is published. A number
may be written as ``8.0``; an empty cell leaves the parameter at its default.
"""

from collections.abc import Iterator, Mapping

from ingest.door.records import Records
from ingest.door.values import parse_value
from ingest.files.content import Content
from ingest.files.csv_rows import csv_rows, header_of
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.trackers.experiments import case_or_fault
from kg.errors import Fault
from kg.nouns.entities import Case

_COLUMNS = {"task", "model", "size", "system", "dtype", "num_gpus", "seq_len", "tp_size", "pp_size", "gbs"}
_ABOUT = {"task", "model", "size", "system", "dtype", "num_gpus", "seq_len", "gbs"}
_PARAMETERS = {f"{name}_size": name for name in ("tp", "pp", "cp", "ep", "vp", "etp")}
_TASKS = {"pre_train": "pretrain"}


def sniff(head: Head) -> bool:
    """True if it has the table's columns."""
    return set(header_of(head.text)) >= _COLUMNS


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A winner for each row."""
    source = {"title": "NeMo recommended configurations", "path": content.reference}
    for place, row in csv_rows(content):
        yield (
            row
            if isinstance(row, Fault)
            else case_or_fault(records, place, _record(row) | {"source": source})
        )


def _record(row: Mapping[str, str]) -> dict[str, object]:
    task = row["task"]
    return {
        "task": {
            "kind": "training",
            "op": _TASKS.get(task, task),
            "model": " ".join(part for part in (row["model"], row["size"]) if part),
            "shape": {"seq_len": _whole(row["seq_len"]), "global_batch": _whole(row["gbs"])},
            "dtype": row["dtype"] or None,
        },
        "hardware": {"name": row["system"], "count": _whole(row["num_gpus"])},
        "config": {
            _PARAMETERS.get(name, name): _whole(cell) for name, cell in row.items() if name not in _ABOUT
        },
        "outcome": {
            "metric": "throughput",
            "unit": "tokens/s/device",
            "value": None,
            "status": "winner_untimed",
        },
    }


def _whole(cell: str) -> object:
    """A cell's value: ``8.0`` is 8, nothing is nothing."""
    value = parse_value(cell) if cell else None
    return int(value) if isinstance(value, float) and value.is_integer() else value


FORMAT = Format(
    name="nemo-configs",
    title="NeMo recommended configurations (CSV)",
    sniff=sniff,
    read=read,
)
