"""Questions answered lately, so that ``explain ID`` and an outcome can refer to an answer by its id.

The memory is a convenience: it is written if the folder can be written to, the oldest entries go first,
and an answer can always be made again from its question.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.errors import UnknownEntityError
from kg.nouns.values import Settings
from recommender.experiment.metadata import ArmSubject, ExperimentSubject

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from recommender.ranking.recommendation import Recommendation

REMEMBERED = 10_000
"""Answers remembered; at some 500 bytes each, 5 MB."""

_BUSY_S = 0.2

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS asked (
        id TEXT PRIMARY KEY, question TEXT NOT NULL, k INTEGER NOT NULL, version TEXT NOT NULL
    ) STRICT
"""
_CHOSEN = "CREATE TABLE IF NOT EXISTS chosen (id TEXT PRIMARY KEY, content TEXT NOT NULL) STRICT"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChoice:
    """A recommendation as it was made: what an outcome needs, also after the knowledge has changed.

    Attributes:
        id: Its id.
        question: The question that it answered, as JSON.
        configuration: What it said to set.
        strategy: Id of its strategy; empty for a configuration of past cases.
        bottleneck: Observed bottleneck that it was for; empty if none was told.
    """

    id: str
    question: str
    configuration: Settings
    strategy: str = ""
    bottleneck: str = ""


def remember(
    path: Path,
    ids: Iterable[str],
    *,
    question: str,
    k: int,
    version: str,
    chosen: Iterable[tuple[str, str]] = (),
) -> bool:
    """Keep which question the recommendations ``ids`` answered; whether that was possible.

    Args:
        path: The memory, an SQLite file made when needed.
        ids: Of the recommendations of one answer.
        question: The question as JSON.
        k: How many recommendations were asked for.
        version: The knowledge that the answer rests on.
        chosen: Of each recommendation its id and content as JSON, for ``chosen``.
    """
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_S)) as memory, memory:
            memory.execute("PRAGMA synchronous = OFF")
            memory.execute(_SCHEMA)
            memory.executemany(
                "INSERT OR REPLACE INTO asked VALUES (?, ?, ?, ?)",
                [(item, question, k, version) for item in ids],
            )
            memory.execute(_CHOSEN)
            memory.executemany("INSERT OR REPLACE INTO chosen VALUES (?, ?)", chosen)
            for table in ("asked", "chosen"):
                memory.execute(
                    f"DELETE FROM {table} WHERE rowid <= (SELECT max(rowid) FROM {table}) - ?",  # noqa: S608
                    (REMEMBERED,),
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


def chosen(path: Path, prefix: str) -> StoredChoice:
    """The recommendation whose id begins with ``prefix``.

    Raises:
        UnknownEntityError: None is remembered, or several are.
    """
    found = {item[0]: item[1] for item in recall(path, prefix)} if prefix else {}
    if len(found) > 1:
        raise UnknownEntityError(f"{prefix} begins several ids", hint="give more of it")
    rows: list[tuple[str]] = []
    for identifier in found:
        try:
            with closing(
                sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)
            ) as memory:
                rows = memory.execute("SELECT content FROM chosen WHERE id = ?", (identifier,)).fetchall()
        except sqlite3.Error:
            rows = []
    if not rows:
        raise UnknownEntityError(
            f"no recommendation {prefix!r} is remembered", hint="ask again: tunegraph recommend"
        )
    [(identifier, question)] = found.items()
    content = json.loads(rows[0][0])
    return StoredChoice(
        id=identifier,
        question=question,
        configuration=Settings(content["configuration"]),
        strategy=content["strategy"],
        bottleneck=content["bottleneck"],
    )


def subject_of(path: Path, recommendation: str) -> ExperimentSubject:
    """The subject of an A/B test that tries a remembered recommendation.

    Raises:
        UnknownEntityError: None begins with this id, or several do.
    """
    choice = chosen(path, recommendation)
    tried = ArmSubject(recommendation=choice.id, strategy=choice.strategy, bottleneck=choice.bottleneck)
    question = json.loads(choice.question)
    return ExperimentSubject(question=question, single=tried, configuration=choice.configuration)


def content_of(item: Recommendation) -> tuple[str, str]:
    """Id and content of a recommendation, to be remembered."""
    content = {
        "configuration": item.configuration.to_json(),
        "strategy": item.strategy,
        "bottleneck": item.bottleneck,
    }
    return item.id, json.dumps(content, ensure_ascii=False, sort_keys=True)
