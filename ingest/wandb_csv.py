"""A table exported from W&B: everything quoted, settings and results side by side without a prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.columns import quantity
from ingest.csv_rows import header_of
from ingest.run_tables import Run, run_cases
from ingest.values import typed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ingest.content import Content
    from ingest.records import Records
    from ingest.sniffing import Head
    from kg.entities import Case
    from kg.errors import Fault

_OWN = {
    *("Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "ID", "Hostname", "Updated"),
    *("End Time", "Description", "Commit", "GitHub", "Group", "Job Type", "Start Time"),
}
"""W&B's own columns; a run's ``Runtime`` is how long it was logged, not a result."""
_STATUS = {"finished": "ok", "failed": "failed", "crashed": "failed", "killed": "failed"}


def sniff(head: Head) -> bool:
    """Whether its columns are those of W&B's runs."""
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
        name: typed(cell)
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
