"""Tables of ``mlflow.search_runs().to_csv``: a run a row, columns ``params.``, ``metrics.``, ``tags.``."""

from collections.abc import Iterator, Mapping

from ingest.door.records import Records
from ingest.door.values import parse_value
from ingest.files.content import Content
from ingest.files.csv_rows import header_of
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.trackers.run_tables import Run, run_cases
from kg.errors import Fault
from kg.nouns.entities import Case

_STATUS = {"FINISHED": "ok", "FAILED": "failed", "KILLED": "failed"}


def sniff(head: Head) -> bool:
    """True if its columns are those of MLflow's runs."""
    header = header_of(head.text)
    return {"run_id", "experiment_id", "status"} <= set(header) and any(
        name.startswith("metrics.") for name in header
    )


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each metric of each run."""
    return run_cases(
        content,
        records,
        title="MLflow runs",
        may_measure=lambda column: column.startswith("metrics."),
        run=_run,
    )


def _run(row: Mapping[str, str], _: frozenset[str]) -> Run:
    facts = {
        name.removeprefix("params."): parse_value(cell)
        for name, cell in row.items()
        if name.startswith("params.")
    }
    for name, cell in row.items():
        plain = name.removeprefix("tags.")
        if plain != name and not plain.startswith("mlflow.") and plain not in facts:
            facts[plain] = parse_value(cell)
    name = row.get("tags.mlflow.runName", "")
    return Run(
        name=name or row["run_id"],
        status=_STATUS.get(row["status"], ""),
        facts=facts,
        hints=(name,) if name else (),
    )


FORMAT = Format(
    name="mlflow",
    title="MLflow runs as CSV (run_id, params.., metrics..)",
    sniff=sniff,
    read=read,
)
