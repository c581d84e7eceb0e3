"""Results are written as the engine itself writes them."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode, Quad, QueryBoolean, QuerySolutions, RdfFormat, Store, Triple, parse

from kg.errors import QueryLimitError
from kg.triples.graph import Term
from kg.triples.user_queries.results import TABLE_FORMATS, formats_of, written
from kg.triples.user_queries.sparql import Cell, QueryResult

IRI = NamedNode("https://example.org/a")
TERMS: tuple[Term, ...] = (
    IRI,
    Literal('plain, with "marks"\nand lines\tand tabs'),
    Literal("中文", language="zh"),
    Literal("1.5", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#decimal")),
    Triple(IRI, IRI, Literal("inner", language="en")),
)
CELLS = (
    Cell(type="uri", value=IRI.value),
    Cell(type="literal", value='plain, with "marks"\nand lines\tand tabs'),
    Cell(type="literal", value="中文", language="zh"),
    Cell(type="literal", value="1.5", datatype="http://www.w3.org/2001/XMLSchema#decimal"),
    Cell(type="triple", value=str(TERMS[4])),
)


@pytest.mark.parametrize("media_type", TABLE_FORMATS)
def test_a_table_is_what_the_engine_writes(media_type: str) -> None:
    store = Store()
    for place, term in enumerate(TERMS):
        store.add(Quad(IRI, NamedNode(f"https://example.org/{place}"), term))
    query = "SELECT ?o ?none { ?s ?p ?o } ORDER BY ?p"
    answer = store.query(query)
    assert isinstance(answer, QuerySolutions)
    expected = answer.serialize(format=TABLE_FORMATS[media_type])
    rows = tuple((cell, None) for cell in CELLS)
    assert written(QueryResult(form="select", columns=("o", "none"), rows=rows), media_type) == expected


@pytest.mark.parametrize("media_type", TABLE_FORMATS)
def test_a_truth_is_what_the_engine_writes(media_type: str) -> None:
    answer = Store().query("ASK {}")
    assert isinstance(answer, QueryBoolean)
    expected = answer.serialize(format=TABLE_FORMATS[media_type])
    assert written(QueryResult(form="ask", truth=True), media_type) == expected


@pytest.mark.parametrize("media_type", formats_of("triples"))
def test_triples_come_back(media_type: str) -> None:
    subject = Cell(type="uri", value=IRI.value)
    rows = tuple((subject, subject, cell) for cell in CELLS)
    result = QueryResult(form="triples", columns=("subject", "predicate", "object"), rows=rows)
    form = RdfFormat.from_media_type(media_type)
    assert {quad.object for quad in parse(written(result, media_type), form)} == {*TERMS}


@pytest.mark.parametrize("media_type", ["text/csv", "application/json"])
def test_a_term_that_the_engine_cannot_read_is_a_limit(media_type: str) -> None:
    rows = ((Cell(type="literal", value="x" * (17 << 20)),),)
    with pytest.raises(QueryLimitError, match="longer than 16 MiB"):
        written(QueryResult(form="select", columns=("o",), rows=rows), media_type)
