"""Batches in the file of the rows: what each brought, a digest of it, and what it changed in the graph.

A batch is one transaction, so it is there whole or not at all. The graph is made from the statements that
are kept here, and knows by number and seal how far it has come. Rows never change once they are there. A
digest is the sum of the rows' own digests, so their order is free.
"""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

from kg.errors import WorkspaceError
from kg.nouns.values import Settings
from kg.rows.trials_file import TrialsFile

_BYTES = 16
_MODULUS = 1 << 8 * _BYTES
_LEVEL = 1
"""Level of zlib: level 6 takes four times as long for a fifth less."""

_PROBLEMS = "SELECT key, batch, id, task_id, hardware, count, operator, model, metric, better FROM problems"
_TRUST = "SELECT source, batch, level FROM trust"
_TRIALS = "SELECT * FROM trials"
_BATCH_COLUMN = 5


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

    def with_change(self, number: int, change: GraphChange | None, before: str = "") -> str:
        """Return a digest of a batch: its rows, and what it changes in the graph.

        Args:
            number: Of the batch.
            change: What it changes; None where that is not known.
            before: Seal of the batch before it, for a seal.
        """
        rows = repr((before, number, self.rows, self.problems, self.total))
        digest = blake2b(rows.encode(), digest_size=_BYTES)
        if change is not None:
            for part in (change.removed, b"\0", change.added):
                digest.update(part)
        return digest.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphChange:
    """A change of the graph, as N-Triples.

    Attributes:
        removed: What it takes away.
        added: What it puts in, after that.
    """

    removed: bytes = b""
    added: bytes = b""


def digest_of(file: TrialsFile, batch: int, problems: Iterable[int]) -> BatchDigest:
    """Digest the rows of one batch, which all belong to ``problems``."""
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


def digests(file: TrialsFile) -> dict[int, BatchDigest]:
    """Digest the rows of every batch; reads all rows."""
    found: defaultdict[int, BatchDigest] = defaultdict(BatchDigest)
    for row in file.walk(_TRIALS):
        batch = found[row[_BATCH_COLUMN]]
        batch.add("trials", row)
        batch.rows += 1
    for row in file.walk(_PROBLEMS):
        batch = found[row[1]]
        batch.add("problems", row)
        batch.problems += 1
    for row in file.walk(_TRUST):
        found[row[1]].add("trust", row)
    return found


def newest(file: TrialsFile) -> tuple[int, str]:
    """Return number and seal of the newest batch; 0 and nothing before the first."""
    for number, seal in file.read("SELECT number, seal FROM batches ORDER BY number DESC LIMIT 1"):
        return number, seal
    return 0, ""


def seal_of(file: TrialsFile, number: int) -> str | None:
    """Return the seal of a batch; None where there is no such batch."""
    for (seal,) in file.read("SELECT seal FROM batches WHERE number = ?", number):
        return str(seal)
    return None


def record(file: TrialsFile, number: int, digest: str, seal: str, change: GraphChange) -> None:
    """Write down a batch, as part of the transaction that brings its rows.

    Args:
        file: Of the writer.
        number: Of the batch.
        digest: Of its rows and of the change.
        seal: Of it and all before it.
        change: What it changes in the graph.
    """
    file.write("INSERT INTO batches (number, digest, seal) VALUES (?, ?, ?)", number, digest, seal)
    record_change(file, number, change)


def record_change(file: TrialsFile, batch: int, change: GraphChange) -> None:
    """Write down a change of the graph.

    Args:
        file: Of the writer.
        batch: The batch that it belongs to, or the newest one for knowledge that comes without a batch.
        change: The change.
    """
    file.write(
        "INSERT INTO statements (batch, removed, added) VALUES (?, ?, ?)",
        batch,
        zlib.compress(change.removed, _LEVEL),
        zlib.compress(change.added, _LEVEL),
    )


def changes_after(file: TrialsFile, batch: int) -> Iterator[GraphChange]:
    """Yield the changes of the graph that came after a batch, in their order.

    Knowledge that came without a batch may be in the graph already; to make such a change again, with all
    that follow, changes nothing.

    Raises:
        WorkspaceError: One is damaged.
    """
    yield from _changes(
        file,
        "number > coalesce((SELECT min(number) FROM statements WHERE batch = ?1 AND batch > 0), 0)",
        batch,
    )


def change_of(file: TrialsFile, batch: int) -> GraphChange | None:
    """Return the change that a batch made to the graph; None where it is not known.

    Raises:
        WorkspaceError: It is damaged.
    """
    first = "number = (SELECT min(number) FROM statements WHERE batch = ?)"
    return next(_changes(file, first, batch), None)


def _changes(file: TrialsFile, condition: str, *values: object) -> Iterator[GraphChange]:
    sql = f"SELECT number, removed, added FROM statements WHERE {condition} ORDER BY number"  # noqa: S608 - constants
    for number, removed, added in file.walk(sql, *values):
        try:
            change = GraphChange(removed=zlib.decompress(removed), added=zlib.decompress(added))
        except zlib.error as error:
            raise WorkspaceError(
                f"{file.path} is damaged: statements {number}: {error}", hint="restore a backup"
            ) from None
        yield change


def rows_up_to(file: TrialsFile, batch: int) -> int:
    """Count the trials of batches up to ``batch``."""
    [[number]] = file.read("SELECT count(*) FROM trials WHERE batch <= ?", batch)
    return int(number)


def faults(file: TrialsFile) -> Iterator[str]:
    """Yield what SQLite's own check finds, and what is not as it was written; reads everything."""
    for (line,) in file.read("PRAGMA integrity_check(20)"):
        if line != "ok":
            yield str(line)
    found = digests(file)
    known = dict(file.read("SELECT number, digest FROM batches"))
    for number, digest in known.items():
        change = change_of(file, number)
        if found.pop(number, BatchDigest()).with_change(number, change) != digest:
            yield f"batch {number} is not what was written"
    if found:
        yield f"there are rows of batch {min(found)}, which is not there"
    for _ in _changes(
        file, "number NOT IN (SELECT min(number) FROM statements WHERE batch > 0 GROUP BY batch)"
    ):
        pass  # knowledge without a batch can be unpacked
    for digest, content in file.walk("SELECT digest, content FROM settings"):
        try:
            differs = Settings(json.loads(content)).digest != digest
        except (ValueError, TypeError, AttributeError):
            differs = True
        if differs:
            yield f"configuration {digest} does not say what it said when it was stored"
