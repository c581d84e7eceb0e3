"""A file of rows from before batches kept their statements, carried over to the form of today."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from data import text
from kg.errors import WorkspaceError
from kg.rows import batches
from kg.rows.batches import BatchDigest, GraphChange
from kg.rows.trials_file import APPLICATION, VERSION, TrialsFile, explained

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kg.triples.finders import BatchRecord

_BEFORE = 2
_ROWS = ("trials", "problems", "trust")


def is_carried_over(path: Path) -> bool:
    """Return whether a file of rows has the form of today.

    Raises:
        WorkspaceError: It has neither this form nor the one before, or cannot be read.
    """
    with explained(path), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION or version not in (_BEFORE, VERSION):
        raise WorkspaceError(f"{path} has format {version}", hint="use the version of tunegraph that made it")
    return bool(version == VERSION)


def carry_over(path: Path, records: Mapping[int, BatchRecord], graph: str) -> None:
    """Carry a file of rows over, as one step.

    Args:
        path: The file, in the form before.
        records: The batches as the graph has them; rows of later ones were never acknowledged, and go.
        graph: All of the graph, as N-Triples.

    Raises:
        WorkspaceError: The rows are not those that the graph acknowledges; nothing was changed.
    """
    newest = max(records, default=0)
    with explained(path), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        file = TrialsFile(connection, path)
        with file.transaction():
            for table in _ROWS:
                file.write(f"DELETE FROM {table} WHERE batch > ?", newest)  # noqa: S608 - constants
            for table in ("batches", "quarantine"):
                file.write(f"DROP TABLE IF EXISTS {table}")
            for statement in text("trials/batches.sql").split(";\n"):
                file.write(statement)
            found, change = batches.digests(file), GraphChange(added=graph)
            for number, record in records.items():
                rows = found.get(number, BatchDigest())
                if rows.rows != record.rows:
                    raise WorkspaceError(
                        f"the graph acknowledges {record.rows:,} rows of batch {number}, not {rows.rows:,}",
                        hint="nothing was changed; restore a backup, or ingest the files again",
                    )
                is_last = number == newest
                digest = rows.with_change(number, change if is_last else None)
                file.write("INSERT INTO batches VALUES (?, ?, ?)", number, digest, record.seal)
            batches.record_change(file, newest, change)
            file.write(f"PRAGMA user_version = {VERSION}")
