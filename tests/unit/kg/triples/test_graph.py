"""Terms take the place of variables, token by token, and nothing in a term is read as SPARQL."""

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode

from kg.triples.graph import Term, bind

ONE = Literal(1)
NODE = NamedNode("https://example.org/a")


def bound(sparql: str, **terms: Term) -> str:
    return " ".join(bind(sparql, terms).split())


@pytest.mark.parametrize(
    ("sparql", "expected"),
    [
        ("SELECT ?s WHERE { ?s ?p ?x }", "SELECT ?s WHERE { ?s ?p <https://example.org/a> }"),
        (
            "SELECT ?x ?s WHERE { ?s ?p ?x }",
            "SELECT (<https://example.org/a> AS ?x) ?s WHERE { ?s ?p <https://example.org/a> }",
        ),
        (
            "SELECT ?s WHERE { FILTER(?x != ?s) ?s ?p ?x }",
            "SELECT ?s WHERE { FILTER(<https://example.org/a> != ?s) ?s ?p <https://example.org/a> }",
        ),
        (
            "SELECT (COUNT(?x) AS ?n) WHERE { ?s ?p ?x }",
            "SELECT (COUNT(<https://example.org/a>) AS ?n) WHERE { ?s ?p <https://example.org/a> }",
        ),
        (
            "SELECT ?s { { SELECT ?s ?x WHERE { ?s ?p ?x } } }",
            "SELECT ?s { { SELECT ?s WHERE { ?s ?p <https://example.org/a> } } }",
        ),
        ("ASK { ?s ?p '?x', ?x . # ?x\n}", "ASK { ?s ?p '?x', <https://example.org/a> . # ?x }"),
    ],
)
def test_a_variable_gives_way_where_it_stands(sparql: str, expected: str) -> None:
    assert bound(sparql, x=NODE) == expected


def test_what_cannot_be_bound_is_refused() -> None:
    assert bind("SELECT ?s { ?s ?p ?x }", {}) == "SELECT ?s { ?s ?p ?x }"
    with pytest.raises(ValueError, match="no variable y"):
        bound("SELECT ?s { ?s ?p ?x }", y=ONE)
    with pytest.raises(ValueError, match="only IRIs and literals"):
        bound("SELECT ?s { ?s ?p ?x }", x=BlankNode())


def test_a_literal_cannot_end_its_quotes() -> None:
    text = bound("ASK { ?s ?p ?x }", x=Literal('a" } ; DROP ALL #'))
    assert r'"a\" } ; DROP ALL #"' in text
