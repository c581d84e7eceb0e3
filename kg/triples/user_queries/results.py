"""Results of users' queries in the formats of the SPARQL protocol, written by the engine's own writers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyoxigraph import (
    BlankNode,
    Literal,
    NamedNode,
    QueryResultsFormat,
    RdfFormat,
    Triple,
    parse,
    parse_query_results,
    serialize,
)

from kg.errors import QueryLimitError
from kg.triples.user_queries.cells import cell_of
from kg.triples.user_queries.sparql import Cell
from kg.triples.vocabulary import PREFIXES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kg.triples.graph import Term
    from kg.triples.user_queries.sparql import QueryResult

TABLE_FORMATS = {
    "application/sparql-results+json": QueryResultsFormat.JSON,
    "application/sparql-results+xml": QueryResultsFormat.XML,
    "text/csv": QueryResultsFormat.CSV,
    "text/tab-separated-values": QueryResultsFormat.TSV,
    "application/json": QueryResultsFormat.JSON,
    "application/xml": QueryResultsFormat.XML,
}
"""Formats of SELECT and ASK by media type, the preferred one first."""
TRIPLE_FORMATS = {"text/turtle": RdfFormat.TURTLE, "application/n-triples": RdfFormat.N_TRIPLES}
"""Formats of CONSTRUCT and DESCRIBE by media type, the preferred one first."""


def formats_of(form: str) -> tuple[str, ...]:
    """The media types that a form of answer can be written in, the preferred one first."""
    return tuple(TRIPLE_FORMATS if form == "triples" else TABLE_FORMATS)


def written(result: QueryResult, media_type: str) -> bytes:
    """The result as text of a media type, one of :func:`formats_of` its form.

    Raises:
        QueryLimitError: A term is longer than the engine reads (16 MiB).
    """
    if result.form == "triples":
        triples = [_triple(row) for row in result.rows]
        form = TRIPLE_FORMATS[media_type]
        prefixes = PREFIXES if form is RdfFormat.TURTLE else None
        return serialize(triples, format=form, prefixes=prefixes) or b""
    text = json.dumps(_json(result))
    try:
        solutions = parse_query_results(text, QueryResultsFormat.JSON)
        return solutions.serialize(format=TABLE_FORMATS[media_type]) or b""
    except MemoryError:
        raise QueryLimitError(
            "a term of the answer is longer than 16 MiB", is_late=False, hint="ask for less of it: SUBSTR"
        ) from None


def _json(result: QueryResult) -> dict[str, object]:
    if result.truth is not None:
        return {"head": {}, "boolean": result.truth}
    rows = [
        {name: _json_cell(cell) for name, cell in zip(result.columns, row, strict=True) if cell is not None}
        for row in result.rows
    ]
    return {"head": {"vars": list(result.columns)}, "results": {"bindings": rows}}


def _json_cell(cell: Cell) -> dict[str, object]:
    if cell.type == "triple":
        triple = _term(cell)
        assert isinstance(triple, Triple)  # noqa: S101  by its type
        parts = {"subject": triple.subject, "predicate": triple.predicate, "object": triple.object}
        return {
            "type": "triple",
            "value": {name: _json_cell(Cell(**cell_of(term))) for name, term in parts.items()},
        }
    content: dict[str, object] = {"type": cell.type, "value": cell.value}
    if cell.language:
        content["xml:lang"] = cell.language
    elif cell.datatype:
        content["datatype"] = cell.datatype
    return content


def _triple(row: Sequence[Cell | None]) -> Triple:
    subject, predicate, item = (_term(cell) for cell in row if cell is not None)
    assert isinstance(subject, NamedNode | BlankNode | Triple)  # noqa: S101  the engine builds no other
    assert isinstance(predicate, NamedNode)  # noqa: S101
    return Triple(subject, predicate, item)


def _term(cell: Cell) -> Term:
    match cell.type:
        case "uri":
            return NamedNode(cell.value)
        case "bnode":
            return BlankNode(cell.value)
        case "triple":  # in N-Triples, which has triples as objects alone
            [quad] = parse(f"_:s <urn:p> <<( {cell.value} )>> .", format=RdfFormat.N_TRIPLES)
            assert isinstance(quad.object, Triple)  # noqa: S101
            return quad.object
    if cell.language:
        return Literal(cell.value, language=cell.language)
    return Literal(cell.value, datatype=NamedNode(cell.datatype)) if cell.datatype else Literal(cell.value)
