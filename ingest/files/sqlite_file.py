"""SQLite files of others, opened so that neither a damaged nor a hostile one takes all memory or all time.

Read-only and immutable: nothing is locked, changed or written beside the file. A schema may hold code:
generated columns and virtual tables compute what a row says, so a small file can ask for gigabytes; both are
refused.
"""

import sqlite3
from pathlib import Path

from ingest.files.content import ContentError

LONGEST = 16 << 20
"""Bytes of one value or row at most (SQLITE_LIMIT_LENGTH); a choice, far above the texts of studies."""

_STEPS = 1_000_000
"""Steps of the database's machine between two looks at whether a file keeps it busy for nothing."""
_LOOKS = 2_000

_GENERATED = {2, 3}
"""Values of ``hidden`` in PRAGMA table_xinfo: virtual and stored generated columns."""


class ComputedContentError(ContentError):
    """A schema that computes what it says instead of storing it."""


def open_untrusted(path: Path) -> sqlite3.Connection:
    """Open a file of somebody else.

    Args:
        path: The file.

    Raises:
        ComputedContentError: Its schema computes values.
        ContentError: It cannot be read.
    """
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
        database.text_factory = lambda raw: raw.decode(errors="replace")
        database.set_progress_handler(_Patience(), _STEPS)
        database.execute("PRAGMA trusted_schema = OFF")
        _check_schema(database)
    except (sqlite3.Error, UnicodeDecodeError) as fault:
        database.close()
        raise ContentError(f"no database that can be read ({str(fault)[:200]})") from fault
    except ContentError:
        database.close()
        raise
    return database


def tables(database: sqlite3.Connection) -> dict[str, frozenset[str]]:
    """Names of the tables and of their columns."""
    names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    found: dict[str, frozenset[str]] = {}
    for (name,) in names:
        rows = database.execute("SELECT name FROM pragma_table_info(?)", (name,)).fetchall()
        found[name] = frozenset(column for (column,) in rows)
    return found


def _check_schema(database: sqlite3.Connection) -> None:
    made = database.execute(
        "SELECT name, coalesce(sql, '') FROM sqlite_master WHERE type = 'table'"
    ).fetchall()
    for name, sql in made:
        if " ".join(sql.split()[:2]).upper() == "CREATE VIRTUAL":
            raise ComputedContentError(
                f"the table {name[:60]!r} is virtual: its content is computed, not stored"
            )
        for column, hidden in database.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (name,)):
            if hidden in _GENERATED:
                raise ComputedContentError(
                    f"the column {column[:60]!r} of {name[:60]!r} is generated: computed, not stored"
                )


class _Patience:
    """Ends what keeps the database busy for nothing."""

    def __init__(self) -> None:
        self._looks = 0

    def __call__(self) -> bool:
        self._looks += 1
        return self._looks > _LOOKS
