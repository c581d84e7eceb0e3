"""Questions answered lately, so that ``explain ID`` and an outcome can refer to an answer by its id.

The memory is a convenience: it is written if the folder can be written to, the oldest entries go first,
and an answer can always be made again from its question.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

REMEMBERED = 10_000
"""Answers remembered; at some 500 bytes each, 5 MB."""

_BUSY_S = 0.2

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS asked (
        id TEXT PRIMARY KEY, question TEXT NOT NULL, k INTEGER NOT NULL, version TEXT NOT NULL
    ) STRICT
"""


def remember(path: Path, ids: Iterable[str], *, question: str, k: int, version: str) -> bool:
    """Keep which question the recommendations ``ids`` answered; whether that was possible.

    Args:
        path: The memory, an SQLite file made when needed.
        ids: Of the recommendations of one answer.
        question: The question as JSON.
        k: How many recommendations were asked for.
        version: The knowledge that the answer rests on.
    """
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_S)) as memory, memory:
            memory.execute("PRAGMA synchronous = OFF")
            memory.execute(_SCHEMA)
            memory.executemany(
                "INSERT OR REPLACE INTO asked VALUES (?, ?, ?, ?)",
                [(item, question, k, version) for item in ids],
            )
            memory.execute(
                "DELETE FROM asked WHERE rowid <= (SELECT max(rowid) FROM asked) - ?", (REMEMBERED,)
            )
    except sqlite3.Error:
        return False
    return True


def recall(path: Path, prefix: str) -> list[tuple[str, str, int, str]]:
    """Id, question, k and version of the remembered answers whose id begins with ``prefix``."""
    if not path.is_file():
        return []
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)
        ) as memory:
            rows = memory.execute(
                "SELECT id, question, k, version FROM asked WHERE substr(id, 1, ?) = ?"
                " ORDER BY rowid DESC LIMIT 50",
                (len(prefix), prefix),
            )
            return [(str(a), str(b), int(c), str(d)) for a, b, c, d in rows]
    except sqlite3.Error:
        return []
