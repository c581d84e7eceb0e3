"""The file of answered questions: a small SQLite table of questions and of the recommendations they got.

It is a convenience beside the workspace: it is written if the folder can be written to, and the oldest
entries are dropped first.
"""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

KEPT = 10_000
"""Recommendations kept; at some 500 bytes each, 5 MB."""

_BUSY_S = 0.2

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS asked (
        id TEXT PRIMARY KEY, question TEXT NOT NULL, k INTEGER NOT NULL, version TEXT NOT NULL
    ) STRICT
"""
_CHOSEN = "CREATE TABLE IF NOT EXISTS chosen (id TEXT PRIMARY KEY, content TEXT NOT NULL) STRICT"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredQuestion:
    """A question that was answered with a recommendation.

    Attributes:
        id: Of the recommendation.
        question: The question as JSON.
        k: Number of recommendations that were asked for.
        version: Version of the knowledge that the answer rests on.
    """

    id: str
    question: str
    k: int
    version: str


class AnswerFile:
    """The answered questions of a workspace.

    Args:
        path: The SQLite file, made when it is first written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def remember(self, contents: Mapping[str, str], *, question: str, k: int, version: str) -> bool:
        """Keep a question with its recommendations.

        Args:
            contents: Content of each recommendation as JSON, by id.
            question: The question as JSON.
            k: Number of recommendations that were asked for.
            version: Version of the knowledge that the answer rests on.

        Returns:
            False if the file cannot be written.
        """
        try:
            with closing(sqlite3.connect(self._path, timeout=_BUSY_S)) as connection, connection:
                connection.execute("PRAGMA synchronous = OFF")
                connection.execute(_SCHEMA)
                connection.executemany(
                    "INSERT OR REPLACE INTO asked VALUES (?, ?, ?, ?)",
                    [(item, question, k, version) for item in contents],
                )
                connection.execute(_CHOSEN)
                connection.executemany("INSERT OR REPLACE INTO chosen VALUES (?, ?)", contents.items())
                for table in ("asked", "chosen"):
                    connection.execute(
                        f"DELETE FROM {table} WHERE rowid <= (SELECT max(rowid) FROM {table}) - ?",  # noqa: S608
                        (KEPT,),
                    )
        except sqlite3.Error:
            return False
        return True

    def questions(self, prefix: str) -> list[AnsweredQuestion]:
        """Return the questions whose recommendation has an id that begins with ``prefix``, newest first."""
        rows = self._read(
            "SELECT id, question, k, version FROM asked WHERE substr(id, 1, ?) = ?"
            " ORDER BY rowid DESC LIMIT 50",
            len(prefix),
            prefix,
        )
        return [
            AnsweredQuestion(id=str(a), question=str(b), k=int(str(c)), version=str(d)) for a, b, c, d in rows
        ]

    def content(self, recommendation_id: str) -> str | None:
        """Return the content of a recommendation as JSON; None if it is not kept."""
        rows = self._read("SELECT content FROM chosen WHERE id = ?", recommendation_id)
        return str(rows[0][0]) if rows else None

    def _read(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        if not self._path.is_file():
            return []
        address = f"{self._path.absolute().as_uri()}?mode=ro"
        try:
            with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_S)) as connection:
                return connection.execute(sql, values).fetchall()
        except sqlite3.Error:
            return []
