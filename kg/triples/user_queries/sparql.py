"""Questions that a user writes in SPARQL, answered in a process of its own.

An innocent-looking query can run for minutes and fill the memory, and the engine cannot be told to stop.
So it runs in a child with a deadline and limits of memory and rows, over a snapshot opened for reading.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kg.errors import InputError, WorkspaceError

_ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}
"""For glibc, which reserves up to 128 MiB of address space for each arena of a thread (mallopt(3)): the
engine's threads came near the limit by that alone, and about one query in twenty died on a busy machine."""

_MEMORY_EXCEEDED = (-6, -9, -11)
"""Exit codes of a process that gets no more memory: Rust aborts, the kernel kills, or it faults."""


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
class QueryRows:
    """The rows of an answer.

    Attributes:
        columns: Names of the columns; ``subject``, ``predicate``, ``object`` for triples, ``answer`` for ASK.
        rows: The rows; None where a variable is unbound.
        cut: There were more rows or characters than allowed.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    cut: bool = False


def ask(snapshot: Path, sparql: str, *, limits: Limits | None = None) -> QueryRows:
    """Answer a SELECT, ASK, CONSTRUCT or DESCRIBE.

    Args:
        snapshot: Folder of a published snapshot.
        sparql: The question; the prefixes of ``kg.triples.vocabulary.PREFIXES`` need not be declared.
        limits: What it may use.

    Raises:
        InputError: The query has a fault, whose place is named, or is none of these forms, or asks
            another server, or does not end within its limits.
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
        raise InputError(
            f"the query did not end within {limits.seconds:g} s",
            hint="ask for less, name more of the terms, or add LIMIT",
        ) from None
    if done.returncode:
        raise _failure(done.returncode, done.stderr.decode(errors="replace"), limits)
    return _answer(json.loads(done.stdout))


_RUN = "from kg.triples.user_queries.sparql_child import main; main()"


def _failure(code: int, message: str, limits: Limits) -> InputError | WorkspaceError:
    last = message.strip().splitlines()[-1] if message.strip() else ""
    if code in _MEMORY_EXCEEDED or "MemoryError" in last:
        memory = f"{limits.memory_bytes / 2**20:g} MiB"
        return InputError(f"the query needs more than {memory} of memory", hint="ask for less, or add LIMIT")
    return WorkspaceError(f"the query process ended with {code}: {last}")


def _answer(reply: Mapping[str, object]) -> QueryRows:
    match reply:
        case {"fault": str(message), "hint": str(hint)}:
            raise InputError(message, hint=hint)
        case {"broken": str(message)}:
            raise WorkspaceError(message)
        case {"truth": bool(truth)}:
            return QueryRows(columns=("answer",), rows=(("true" if truth else "false",),))
        case {"columns": list(columns), "rows": list(rows), "cut": bool(cut)}:
            return QueryRows(columns=tuple(columns), rows=tuple(map(tuple, rows)), cut=cut)
    raise WorkspaceError(f"the query process answered {str(reply)[:200]!r}")
