"""Questions that a user writes in SPARQL, answered in a process of its own.

An innocent-looking query can run for minutes and fill the memory, and the engine cannot be told to
stop; and the engine has an HTTP client, which a query can send anywhere. So the query runs in a child that
has a deadline, a limit of memory, a limit of rows and no network, over a snapshot opened for reading.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kg.errors import InputError, QueryLimitError, WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping

_ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}
"""For glibc, which reserves up to 128 MiB of address space for each arena of a thread (mallopt(3)): the
engine's threads came near the limit by that alone, and about one query in twenty died on a busy machine."""

_MEMORY_EXCEEDED = (-6, -9, -11)
"""How a process ends that gets no more memory: Rust aborts, the kernel kills, or it faults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The time, memory and rows that a query may use.

    Attributes:
        seconds: From start to answer.
        memory_bytes: Address space of the child beyond what it has at its start.
        rows: Rows of the answer; more are cut off and said to be.
        answer_bytes: Characters of all terms of the answer; rows beyond are cut off too.
    """

    seconds: float = 30.0
    memory_bytes: int = 1 << 30
    rows: int = 10_000
    answer_bytes: int = 32 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One RDF term of an answer.

    Attributes:
        type: ``"uri"``, ``"bnode"``, ``"literal"`` or ``"triple"``, as in SPARQL's JSON results.
        value: The IRI, the text, or the triple in N-Triples.
        datatype: Datatype IRI of a literal; empty for others and for plain text.
        language: Language tag of a literal; empty if it has none.
    """

    type: str
    value: str
    datatype: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """The result of a query.

    Attributes:
        form: ``"select"``, ``"ask"`` or ``"triples"`` (of CONSTRUCT and DESCRIBE).
        columns: Names of the columns; ``subject``, ``predicate``, ``object`` for triples, none for ASK.
        rows: The rows; None where a variable is unbound.
        truth: What ASK found; None for other forms.
        cut: There were more rows or characters than allowed.
    """

    form: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell | None, ...], ...] = ()
    truth: bool | None = None
    cut: bool = False


def ask(snapshot: Path, sparql: str, *, limits: Limits | None = None) -> QueryResult:
    """Answer a SELECT, ASK, CONSTRUCT or DESCRIBE.

    Args:
        snapshot: Folder of a published snapshot.
        sparql: The question; the prefixes of ``kg.triples.vocabulary.PREFIXES`` need not be declared.
        limits: What it may use.

    Raises:
        InputError: The query has a fault, whose place is named, or is none of these forms, or asks
            another server.
        QueryLimitError: It does not end within its limits.
        WorkspaceError: The snapshot cannot be read.
    """
    limits = limits or Limits()
    order = {
        "snapshot": str(snapshot),
        "sparql": sparql,
        "rows": limits.rows,
        "answer_bytes": limits.answer_bytes,
        "memory_bytes": limits.memory_bytes,
        "seconds": limits.seconds,
    }
    root = str(Path(__file__).resolve().parents[3])
    command = [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {root!r}); {_RUN}"]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(order).encode(),
            capture_output=True,
            env={**os.environ, **_ONE_ARENA},
            timeout=limits.seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise late(limits.seconds) from None
    if done.returncode:
        raise _failure(done.returncode, done.stderr.decode(errors="replace"), limits)
    return _answer(json.loads(done.stdout))


def late(seconds: float) -> QueryLimitError:
    """The fault of a query that takes longer than it may."""
    return QueryLimitError(
        f"the query did not end within {seconds:g} s",
        is_late=True,
        hint="ask for less, name more of the terms, or add LIMIT",
    )


_RUN = "from kg.triples.user_queries.sparql_child import main; main()"


def _failure(code: int, message: str, limits: Limits) -> InputError | WorkspaceError:
    last = message.strip().splitlines()[-1] if message.strip() else ""
    if code in _MEMORY_EXCEEDED or "MemoryError" in last:
        memory = f"{limits.memory_bytes / 2**20:g} MiB"
        return QueryLimitError(
            f"the query needs more than {memory} of memory", is_late=False, hint="ask for less, or add LIMIT"
        )
    return WorkspaceError(f"the query process ended with {code}: {last}")


def _answer(reply: Mapping[str, object]) -> QueryResult:
    match reply:
        case {"fault": str(message), "hint": str(hint)}:
            raise InputError(message, hint=hint)
        case {"broken": str(message)}:
            raise WorkspaceError(message)
        case {"truth": bool(truth)}:
            return QueryResult(form="ask", truth=truth)
        case {"form": str(form), "columns": list(columns), "rows": list(rows), "cut": bool(cut)}:
            return QueryResult(
                form=form,
                columns=tuple(columns),
                rows=tuple(tuple(None if cell is None else Cell(**cell) for cell in row) for row in rows),
                cut=cut,
            )
    raise WorkspaceError(f"the query process answered {str(reply)[:200]!r}")
