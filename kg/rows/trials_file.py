"""The SQLite file of the trials: its tables, and what can go wrong with a file."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from data import text
from kg.errors import WorkspaceError

APPLICATION = 0x74756E65
"""SQLite's application_id of these files: "tune"."""

VERSION = 3
"""SQLite's user_version: of ``tables.sql`` and ``batches.sql`` in ``data/trials``."""

PATIENCE_S = 5.0
"""Wait for another writer; there is none where the writer lock is kept."""


class TrialsFile:
    """A connection that speaks of a workspace when something is wrong.

    Attributes:
        path: The file.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self.path = path

    @property
    def in_transaction(self) -> bool:
        """True while a transaction is open."""
        return self._connection.in_transaction

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a block as one step: on the disk when it ends, undone if it raises."""
        with explained(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            with explained(self.path):
                self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a SELECT."""
        with explained(self.path):
            return self._connection.execute(sql, values).fetchall()

    def walk(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a SELECT one at a time, for what is too much to hold."""
        with explained(self.path):
            yield from self._connection.execute(sql, values)

    def write(self, sql: str, *values: object) -> int:
        """Run one statement; returns the number of rows it changed."""
        with explained(self.path):
            return self._connection.execute(sql, values).rowcount

    def insert(self, sql: str, rows: Sequence[Sequence[object]]) -> int:
        """Run one statement for each of ``rows``; returns the number of rows changed."""
        with explained(self.path):
            return self._connection.executemany(sql, rows).rowcount if rows else 0

    def find_or_insert(self, find: str, name: str, insert: str, *values: object) -> int:
        """Return the key that ``find`` gives for ``name``, else that of the row ``insert`` makes.

        ``insert`` does nothing on conflict, so that a new row costs one statement.
        """
        with explained(self.path):
            cursor = self._connection.execute(insert, values)
            if cursor.rowcount and cursor.lastrowid:
                return cursor.lastrowid
            [key] = self._connection.execute(find, (name,)).fetchone()
            return int(key)

    def close(self) -> None:
        """Close the connection; the last one to write leaves a single file."""
        self._connection.close()


def open_file(path: Path, *, read_only: bool) -> TrialsFile:
    """Open the file; a writer makes it if it does not exist.

    Raises:
        WorkspaceError: It is missing, damaged, foreign or of another version, or cannot be written.
    """
    with explained(path):
        if read_only:
            connection = _connect_read_only(path)
        else:
            connection = sqlite3.connect(path, isolation_level=None, timeout=PATIENCE_S)
        try:
            _prepare(connection, path, read_only=read_only)
        except BaseException:
            connection.close()
            raise
    return TrialsFile(connection, path)


def _connect_read_only(path: Path) -> sqlite3.Connection:
    """Read beside a writer; where the folder allows no side files, read the file alone."""
    if not path.is_file():
        raise WorkspaceError(f"{path} is missing", hint="the workspace is not one, or is damaged")
    address = f"file:{quote(str(path))}?mode=ro"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=PATIENCE_S)
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        log = path.with_name(f"{path.name}-wal")
        if log.is_file() and log.stat().st_size:
            raise WorkspaceError(
                f"{path} was not closed by its last writer, and its folder cannot be written to",
                hint="open the workspace once as a user who may write there",
            ) from None
        return sqlite3.connect(f"{address}&immutable=1", uri=True, isolation_level=None)
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, *, read_only: bool) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if not read_only and not tables and not application:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(
            f"BEGIN IMMEDIATE; {text('trials/tables.sql')} {text('trials/batches.sql')}"
            f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
        )
    elif application != APPLICATION:
        raise WorkspaceError(f"{path} is empty or another program's file", hint="choose another workspace")
    elif version != VERSION:
        raise WorkspaceError(
            f"{path} has format {version}, this program reads format {VERSION}",
            hint="use the version of tunegraph that made it",
        )
    # FULL waits for the disk at the end of each transaction (sqlite.org/wal.html). A writer does not map the
    # file: what it maps counts as its memory, which is to stay flat.
    mapped = 268_435_456 if read_only else 0
    for pragma in ("synchronous = FULL", "cache_size = -32768", f"mmap_size = {mapped}"):
        connection.execute(f"PRAGMA {pragma}")


def copy_database(source: Path, target: Path) -> None:
    """Copy a database as of one moment, while others write to it.

    Raises:
        WorkspaceError: It cannot be read, or the copy cannot be written.
    """
    with (
        explained(source),
        closing(_connect_read_only(source)) as there,
        closing(sqlite3.connect(target)) as here,
    ):
        there.backup(here)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what SQLite says of a file, and values that no writer wrote, into an error about the workspace."""
    try:
        yield
    except sqlite3.OperationalError as error:
        hint = {
            "database is locked": "another process is writing",
            "database or disk is full": "make room",
            "disk I/O error": "make room, or look at the disk",
        }
        raise WorkspaceError(f"{path}: {error}", hint=hint.get(str(error), "")) from error
    except (sqlite3.DatabaseError, ValueError, ArithmeticError) as error:
        raise WorkspaceError(f"{path} is damaged or no trial store: {error}") from error
