"""Tables exported from W&B: everything quoted, settings and results side by side without a prefix."""

from collections.abc import Iterator, Mapping

from ingest.door.columns import quantity
from ingest.door.records import Records
from ingest.door.values import parse_value
from ingest.files.content import Content
from ingest.files.csv_rows import header_of
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.trackers.run_tables import Run, run_cases
from kg.errors import Fault
from kg.nouns.entities import Case

_OWN = {
    *("Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "ID", "Hostname", "Updated"),
    *("End Time", "Description", "Commit", "GitHub", "Group", "Job Type", "Start Time"),
}
"""Columns that W&B adds; a run's ``Runtime`` is the time for which it was logged, not a result."""
_STATUS = {"finished": "ok", "failed": "failed", "crashed": "failed", "killed": "failed"}


def sniff(head: Head) -> bool:
    """True if its columns are those of W&B's runs."""
    return {"Name", "State", "Runtime", "Created"} <= set(header_of(head.text))


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each metric of each run."""
    return run_cases(
        content,
        records,
        title="W&B runs",
        may_measure=lambda column: (
            column not in _OWN and not column.startswith("_") and quantity(column) is not None
        ),
        run=_run,
    )


def _run(row: Mapping[str, str], metrics: frozenset[str]) -> Run:
    facts = {
        name: parse_value(cell)
        for name, cell in row.items()
        if name not in _OWN and name not in metrics and not name.startswith("_")
    }
    hints = tuple(tag.strip() for tag in row.get("Tags", "").split(",") if tag.strip())
    return Run(
        name=row["Name"],
        status=_STATUS.get(row["State"].lower(), ""),
        facts=facts,
        hints=(*hints, row["Name"]),
    )


FORMAT = Format(
    name="wandb",
    title="W&B runs as CSV (Name, State, Runtime, Created)",
    sniff=sniff,
    read=read,
)
