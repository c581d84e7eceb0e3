"""Seals of batches: a digest of the rows each brought, chained from batch to batch, and a quarantine.

The seal of a batch stands in its description in the graph and in the table ``batches`` here, so that the
graph vouches for the rows and each of the two notices when the other is an older copy. Rows never change
once their batch is acknowledged. A digest is the sum of the rows' own digests, so their order is free.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from kg.nouns.values import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kg.rows.trials_file import TrialsFile

KEPT_SWEEPS = 3
"""Sweeps of unfinished batches that the quarantine keeps; acknowledged rows stay for good."""

_BYTES = 16
_MODULUS = 1 << 8 * _BYTES

_TABLES = (
    (
        "CREATE TABLE IF NOT EXISTS batches ("
        "number INTEGER PRIMARY KEY, seal TEXT NOT NULL, acknowledged INTEGER NOT NULL,"
        " vectors TEXT NOT NULL DEFAULT '') STRICT"
    ),
    (
        "CREATE TABLE IF NOT EXISTS quarantine (sweep INTEGER NOT NULL, acknowledged INTEGER NOT NULL,"
        " batch INTEGER NOT NULL, content TEXT NOT NULL) STRICT"
    ),
)
_PROBLEMS = "SELECT key, batch, id, task_id, hardware, count, operator, model, metric, better FROM problems"
_TRUST = "SELECT source, batch, level FROM trust"
_TRIALS = "SELECT * FROM trials"
_BATCH_COLUMN = 5
_QUARANTINED = """
    SELECT ?1, ?2, trials.batch, json_object(
        'problem', problems.id, 'operator', operator, 'model', model, 'hardware', hardware, 'count', count,
        'configuration', json(configuration.content), 'metric', metric.text, 'source', source.text,
        'status', status, 'value', value, 'unit', unit, 'stdev', stdev, 'repeats', repeats, 'reason', reason,
        'software', json(software.content), 'kind', kind, 'strategy', strategy, 'bottleneck', bottleneck,
        'baseline', baseline, 'baseline_configuration', json(before.content)
    ) FROM trials
    LEFT JOIN problems ON problems.key = trials.problem
    LEFT JOIN settings AS configuration ON configuration.key = trials.configuration
    LEFT JOIN settings AS software ON software.key = trials.software
    LEFT JOIN settings AS before ON before.key = trials.baseline_configuration
    LEFT JOIN words AS metric ON metric.key = trials.metric
    LEFT JOIN words AS source ON source.key = trials.source
    WHERE trials.batch > ?3
"""


@dataclass(slots=True)
class BatchDigest:
    """The rows of a batch, counted and digested.

    Attributes:
        rows: Trials.
        problems: Problems that were new with it.
        total: Sum of the digests of its rows.
    """

    rows: int = 0
    problems: int = 0
    total: int = 0

    def add(self, table: str, row: tuple[object, ...]) -> None:
        """Count a row of a table."""
        seen = blake2b(repr((table, row)).encode(), digest_size=_BYTES).digest()
        self.total = (self.total + int.from_bytes(seen, "big")) % _MODULUS

    def seal(self, number: int, before: str, vectors: str = "") -> str:
        """Return the seal of a batch.

        Args:
            number: Of the batch.
            before: Seal of the batch before it.
            vectors: Digest of its vectors; empty where it brought none.
        """
        content = repr((before, number, self.rows, self.problems, self.total)) + vectors
        return blake2b(content.encode(), digest_size=_BYTES).hexdigest()


def prepare(file: TrialsFile) -> None:
    """Make the tables of seals and of the quarantine in a store that has none yet."""
    for sql in _TABLES:
        file.write(sql)
    if not _has_column(file, "batches", "vectors"):  # a store of an earlier program
        file.write("ALTER TABLE batches ADD COLUMN vectors TEXT NOT NULL DEFAULT ''")


def digest_of(file: TrialsFile, batch: int, problems: Iterable[int]) -> BatchDigest:
    """Digest one batch, whose rows all belong to ``problems``."""
    keys = json.dumps(list(problems))
    chosen = "(SELECT value FROM json_each(?)) AND batch = ?"
    found = BatchDigest()
    for row in file.read(f"{_TRIALS} WHERE problem IN {chosen}", keys, batch):
        found.add("trials", row)
        found.rows += 1
    for row in file.read(f"{_PROBLEMS} WHERE key IN {chosen}", keys, batch):
        found.add("problems", row)
        found.problems += 1
    for row in file.read(f"{_TRUST} WHERE batch = ?", batch):
        found.add("trust", row)
    return found


def digests(file: TrialsFile, newest: int) -> dict[int, BatchDigest]:
    """Digest every batch up to ``newest``; reads all rows."""
    found: defaultdict[int, BatchDigest] = defaultdict(BatchDigest)
    for row in file.walk(f"{_TRIALS} WHERE batch <= ?", newest):
        batch = found[row[_BATCH_COLUMN]]
        batch.add("trials", row)
        batch.rows += 1
    for row in file.walk(f"{_PROBLEMS} WHERE batch <= ?", newest):
        batch = found[row[1]]
        batch.add("problems", row)
        batch.problems += 1
    for row in file.walk(f"{_TRUST} WHERE batch <= ?", newest):
        found[row[1]].add("trust", row)
    return found


def record(file: TrialsFile, number: int, seal: str, vectors: str = "") -> None:
    """Note the seal of a batch that is about to be acknowledged, and the digest of its vectors.

    It is on the disk when this returns, and with it the rows that were written before.
    """
    file.write(
        "INSERT OR REPLACE INTO batches (number, seal, acknowledged, vectors) VALUES (?, ?, 0, ?)",
        number,
        seal,
        vectors,
    )


def vector_digests(file: TrialsFile) -> dict[int, str]:
    """Return the digest of the vectors of each batch that brought some, as its seal vouches for it."""
    if not _has_column(file, "batches", "vectors"):
        return {}
    return dict(file.read("SELECT number, vectors FROM batches WHERE vectors != ''"))


def acknowledge(file: TrialsFile, number: int) -> None:
    """Note that the graph has acknowledged every batch up to ``number``.

    A note that is lost with the power is true too: it is that of an earlier batch.
    """
    with file.transaction(synced=False):
        file.write("UPDATE batches SET acknowledged = 1 WHERE number <= ? AND acknowledged = 0", number)


def recorded(file: TrialsFile) -> tuple[int | None, dict[int, str]]:
    """Return the newest batch that is noted as acknowledged (None if none is noted), and all seals."""
    if not _has_table(file, "batches"):
        return None, {}
    rows = file.read("SELECT number, seal, acknowledged FROM batches")
    newest = max((number for number, _, acknowledged in rows if acknowledged), default=None)
    return newest, {number: seal for number, seal, _ in rows}


def newest_row(file: TrialsFile) -> int:
    """Return the newest batch that any row bears, acknowledged or not; 0 without rows."""
    [[newest]] = file.read(
        "SELECT max((SELECT coalesce(max(batch), 0) FROM trials),"
        " (SELECT coalesce(max(batch), 0) FROM problems), (SELECT coalesce(max(batch), 0) FROM trust))"
    )
    return int(newest)


def rows_up_to(file: TrialsFile, batch: int) -> int:
    """Count the trials of batches up to ``batch``."""
    [[number]] = file.read("SELECT count(*) FROM trials WHERE batch <= ?", batch)
    return int(number)


def sweep(file: TrialsFile, after_batch: int, *, acknowledged: bool = False) -> int:
    """Move what batches after ``after_batch`` left to the quarantine, as one step.

    Args:
        file: Of the writer.
        after_batch: The newest batch that stays.
        acknowledged: The rows had been acknowledged; the quarantine never drops them.

    Returns:
        How many trials were moved.
    """
    with file.transaction():
        if newest_row(file) <= after_batch:
            file.write("DELETE FROM batches WHERE number > ?", after_batch)
            return 0
        [[number]] = file.read("SELECT coalesce(max(sweep), 0) + 1 FROM quarantine")
        file.write(f"INSERT INTO quarantine {_QUARANTINED}", number, int(acknowledged), after_batch)
        moved = _delete(file, after_batch)
        file.write(
            "DELETE FROM quarantine WHERE acknowledged = 0 AND sweep NOT IN"
            " (SELECT DISTINCT sweep FROM quarantine WHERE acknowledged = 0 ORDER BY sweep DESC LIMIT ?)",
            KEPT_SWEEPS,
        )
    return moved


def cut(file: TrialsFile, after_batch: int) -> None:
    """Delete what batches after ``after_batch`` brought, from a copy that is to end there."""
    with file.transaction():
        _delete(file, after_batch)


def _delete(file: TrialsFile, after_batch: int) -> int:
    moved = file.write("DELETE FROM trials WHERE batch > ?", after_batch)
    file.write("DELETE FROM problems WHERE batch > ?", after_batch)
    file.write("DELETE FROM trust WHERE batch > ?", after_batch)
    file.write("DELETE FROM batches WHERE number > ?", after_batch)
    return moved


def quarantine(file: TrialsFile) -> list[tuple[int, dict[str, object]]]:
    """Return batch and content of every row in the quarantine, oldest first."""
    if not _has_table(file, "quarantine"):
        return []
    rows = file.read("SELECT batch, content FROM quarantine ORDER BY sweep, batch")
    return [(batch, json.loads(content)) for batch, content in rows]


def put_in_quarantine(file: TrialsFile, rows: Iterable[tuple[int, Mapping[str, object]]]) -> None:
    """Leave in the quarantine what lay in another store's, and nothing else; see :func:`quarantine`."""
    with file.transaction():
        file.write("DELETE FROM quarantine")
        packed = [(batch, json.dumps(content)) for batch, content in rows]
        file.insert("INSERT INTO quarantine VALUES (1, 1, ?, ?)", packed)


def faults(file: TrialsFile) -> Iterator[str]:
    """Yield what SQLite's own check finds, and configurations that are not what their digest says."""
    for (line,) in file.read("PRAGMA integrity_check(20)"):
        if line != "ok":
            yield str(line)
    for digest, content in file.walk("SELECT digest, content FROM settings"):
        try:
            differs = Settings(json.loads(content)).digest != digest
        except (ValueError, TypeError, AttributeError):
            differs = True
        if differs:
            yield f"configuration {digest} does not say what it said when it was stored"


def _has_table(file: TrialsFile, name: str) -> bool:
    return bool(file.read("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", name))


def _has_column(file: TrialsFile, table: str, name: str) -> bool:
    return bool(file.read("SELECT 1 FROM pragma_table_info(?) WHERE name = ?", table, name))
