"""The process in which one user's query runs: an order on standard input, an answer on standard output.

``kg.triples.user_queries.sparql`` starts it and ends it. It limits its own memory and processor time before
it reads the query, so a parent that dies leaves nothing running for long.
"""

import json
import math
import re
import resource
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from pyoxigraph import QueryBoolean, QuerySolutions, QueryTriples, Store, Triple

from kg.memory_limit import limit, limit_memory
from kg.triples.graph import TOKEN, Term
from kg.triples.vocabulary import PREFIXES

Reply: TypeAlias = dict[str, object]


_UPDATES = {
    "INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "COPY", "MOVE", "ADD", "WITH",
}  # fmt: skip
_READS = {"SELECT", "ASK", "CONSTRUCT", "DESCRIBE"}
_PLACE = re.compile(r"(?:error )?at (?P<line>\d+):(?P<column>\d+):?\s*")

_SENTENCE = re.compile(r"(?<![\w'\"])[A-Z][a-zA-Z]*(?: [A-Za-z]+){2,}")
"""The sentence among the tokens that a parser would have accepted."""
_SHOWN = 30
_LONGEST = 200


def main() -> None:
    """Read the order, write the answer."""
    order = json.load(sys.stdin.buffer)
    _limit(order["memory_bytes"], order["seconds"])
    json.dump(
        answer(order["snapshot"], order["sparql"], order["rows"], most_bytes=order["answer_bytes"]),
        sys.stdout,
    )


def answer(snapshot: str, sparql: str, most: int, *, most_bytes: int = 32 << 20) -> Reply:
    """Run a query on a snapshot; return the result as JSON, or the fault of query or snapshot.

    Args:
        snapshot: Folder of the snapshot.
        sparql: The query.
        most: Rows at most.
        most_bytes: Characters of the terms at most.
    """
    if fault := refusal(sparql):
        return fault
    try:
        store = Store.read_only(snapshot)
    except OSError as error:
        return {"broken": f"the graph in {snapshot} cannot be opened: {error}"}
    try:
        result = store.query(sparql, prefixes=PREFIXES)
        if isinstance(result, QueryBoolean):
            return {"truth": bool(result)}
        if isinstance(result, QuerySolutions):
            columns = [variable.value for variable in result.variables]
            return _table(columns, (tuple(row) for row in result), most, most_bytes)
        return _table(["subject", "predicate", "object"], _rows(result), most, most_bytes)
    except SyntaxError as error:
        return {"fault": f"the query has a fault: {_place(str(error.msg or error), sparql)}", "hint": ""}
    except (RuntimeError, OSError) as error:
        reason = str(error).splitlines()[0][:_LONGEST]
        return {"fault": f"the query cannot be answered: {reason}", "hint": ""}


def refusal(sparql: str) -> Reply | None:
    """Return the reason not to run a query; None if it may run."""
    words = [token.group().upper() for token in TOKEN.finditer(sparql) if token.lastgroup == "word"]
    form = next((word for word in words if word in _READS | _UPDATES), "")
    if form in _UPDATES:
        return {
            "fault": f"{form} changes the graph; queries only read it",
            "hint": "add knowledge with: tunegraph kb add",
        }
    if not form:
        first = f"{words[0][:_SHOWN]} is" if words else "there is"
        return {
            "fault": f"the query has a fault: {first} no form of a question",
            "hint": f"it begins with {', '.join(sorted(_READS))}, after its prefixes",
        }
    if "SERVICE" in words:
        return {"fault": "SERVICE asks another server; queries stay here", "hint": "export, and ask there"}
    return None


def _rows(triples: QueryTriples) -> Iterator[Sequence[Term]]:
    for triple in triples:
        yield tuple(triple)


def _table(columns: list[str], rows: Iterable[Sequence[Term | None]], most: int, most_bytes: int) -> Reply:
    kept: list[list[str | None]] = []
    size = 0
    for row in rows:
        cells = [str(term) if isinstance(term, Triple) else term and term.value for term in row]
        size += sum(len(cell) for cell in cells if cell is not None)
        if len(kept) == most or size > most_bytes:
            return {"columns": columns, "rows": kept, "cut": True}
        kept.append(cells)
    return {"columns": columns, "rows": kept, "cut": False}


def _place(message: str, sparql: str) -> str:
    """Return where the parser stopped, and at what, in one line."""
    match = _PLACE.search(message)
    if match is None:
        return message.splitlines()[0][:_LONGEST]
    line, column = int(match["line"]), int(match["column"])
    rest = message[: match.start()] + message[match.end() :]
    lines = sparql.splitlines()
    here = " ".join([lines[line - 1][column - 1 :], *lines[line:]]).strip() if line <= len(lines) else ""
    near = f"near {here[:_SHOWN]!r}" if here else "at its end"
    says = _SENTENCE.search(rest)
    return f"line {line}, column {column}, {near}" + (f": {says[0][0].lower()}{says[0][1:]}" if says else "")


def _limit(memory_bytes: int, seconds: float) -> None:
    limit_memory(memory_bytes)
    # four threads' worth: the wall clock is the parent's
    limit(resource.RLIMIT_CPU, math.ceil(seconds) * 4 + 1)
    limit(resource.RLIMIT_CORE, 0)
