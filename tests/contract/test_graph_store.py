"""The contract of a graph store, in memory and on disk."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple

from kg.errors import InputError
from kg.triples.graph import GraphStore, bind

XSD = "http://www.w3.org/2001/XMLSchema#"


def iri(name: str) -> NamedNode:
    return NamedNode(f"http://example.org/{name}")


ALL = [
    Triple(iri("a"), iri("label"), Literal("昇腾", language="zh")),
    Triple(iri("a"), iri("label"), Literal("Ascend", language="en-GB")),
    Triple(iri("a"), iri("label"), Literal("Ascend")),
    Triple(iri("a"), iri("count"), Literal(2**80)),
    Triple(iri("a"), iri("value"), Literal(1.0000000000000002e-9)),
    Triple(iri("a"), iri("odd"), Literal("not a number", datatype=NamedNode(XSD + "double"))),
    Triple(iri("a"), iri("text"), Literal('quote " backslash \\ newline \n tab \t } # ?x')),
    Triple(iri("a"), iri("true"), Literal(True)),
    Triple(iri("b"), iri("next"), iri("a")),
    Triple(BlankNode("b1"), iri("next"), iri("a")),
]


NAMED = [triple for triple in ALL if isinstance(triple.subject, NamedNode)]


@pytest.fixture(params=["memory", "disk"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GraphStore]:
    opened = GraphStore(tmp_path / "graph" if request.param == "disk" else None)
    yield opened
    opened.close()


def content(store: GraphStore) -> set[str]:
    return {str(triple) for triple in store.triples()}


def test_terms_come_back_as_they_went_in(store: GraphStore) -> None:
    store.extend(ALL)
    assert content(store) == {str(triple) for triple in ALL}
    assert len(store) == len(ALL)


def test_adding_twice_changes_nothing(store: GraphStore) -> None:
    store.extend(ALL)
    store.extend(ALL)
    assert len(store) == len(ALL)


def test_a_failing_iterator_writes_nothing(store: GraphStore) -> None:
    def failing() -> Iterator[Triple]:
        yield from ALL
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        store.extend(failing())
    assert len(store) == 0


def test_an_integer_finds_itself_alone(store: GraphStore) -> None:
    numbers = [0, 1, 254, 255, 256, 257, 511, 512, 1023, 1024, 65535, 65536, 2**31 - 1, 2**31]
    store.extend(Triple(iri(f"n{number}"), iri("count"), Literal(number)) for number in numbers)
    for predicate in (None, iri("count")):
        found = {number: len(list(store.triples(None, predicate, Literal(number)))) for number in numbers}
        assert found == dict.fromkeys(numbers, 1)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ((iri("a"), iri("label"), None), 3),
        ((iri("b"), None, iri("a")), 1),
        ((None, None, Literal("Ascend", language="en-gb")), 1),
        ((None, iri("count"), Literal(2**80)), 1),
        ((None, iri("count"), Literal(str(2**80))), 0),
        ((iri("nobody"), None, None), 0),
    ],
)
def test_patterns(
    store: GraphStore, pattern: tuple[NamedNode | None, NamedNode | None, Literal | None], expected: int
) -> None:
    store.extend(ALL)
    assert len(list(store.triples(*pattern))) == expected


def test_replace_is_one_step(store: GraphStore) -> None:
    old, new = Triple(iri("e"), iri("n"), Literal(1)), Triple(iri("e"), iri("n"), Literal(2))
    store.extend([old])
    store.replace([old], [new])
    assert content(store) == {str(new)}
    with pytest.raises(ValueError, match="blank node"):
        store.replace([new], [Triple(BlankNode(), iri("n"), Literal(3))])
    assert content(store) == {str(new)}


def test_replace_keeps_odd_text_whole(store: GraphStore) -> None:
    store.replace([], NAMED)
    assert content(store) == {str(triple) for triple in NAMED}
    store.replace(NAMED, [])
    assert len(store) == 0
    store.replace([], [])
    assert len(store) == 0


def test_select_returns_the_projection_in_order_with_gaps(store: GraphStore) -> None:
    store.extend(ALL)
    rows = list(
        store.select(
            "SELECT ?label ?none ?s WHERE { ?s ?p ?label OPTIONAL { ?s ?missing ?none } }",
            p=iri("label"),
            missing=iri("missing"),
        )
    )
    assert {row[0] for row in rows} == {triple.object for triple in ALL[:3]}
    assert {row[1:] for row in rows} == {(None, iri("a"))}


def test_a_bound_variable_is_returned_and_reaches_into_sub_selects(store: GraphStore) -> None:
    store.extend(ALL)
    rows = list(
        store.select(
            """SELECT DISTINCT ?s (STR(?s) AS ?name) ?n WHERE {
                 # ?s in a comment, and a "?s" in a string, stay as they are
                 { SELECT ?s (COUNT(?o) AS ?n) WHERE { ?s <http://example.org/label> ?o } }
                 FILTER("?s" != "x")
               }""",
            s=iri("a"),
        )
    )
    assert [(row[0], str(row[1]), str(row[2])) for row in rows] == [
        (iri("a"), '"http://example.org/a"', f'"3"^^<{XSD}integer>')
    ]


@pytest.mark.parametrize(
    "hostile",
    [
        '" } ; DROP ALL ; #',
        "') . ?s ?p ?o } #",
        '\\" . ?s ?p ?o . "',
        "} UNION { ?s ?p ?o",
        '"""\n} #',
        "?s ?p ?o",
        "\\u0022 } UNION { ?s ?p ?o } #",
    ],
)
def test_a_hostile_binding_is_only_text(store: GraphStore, hostile: str) -> None:
    store.extend(ALL)
    query = "SELECT ?s WHERE { ?s ?p ?wanted }"
    assert list(store.select(query, wanted=Literal(hostile))) == []
    store.extend([Triple(iri("h"), iri("text"), Literal(hostile))])
    assert list(store.select(query, wanted=Literal(hostile))) == [(iri("h"),)]


def test_a_hostile_iri_is_no_term() -> None:
    with pytest.raises(ValueError, match="IRI"):
        NamedNode("http://example.org/a> ?p ?o } #")


@pytest.mark.parametrize("binding", [{"nobody": Literal(1)}, {"s": BlankNode("b1")}])
def test_bindings_that_mean_nothing_are_refused(store: GraphStore, binding: dict[str, Literal]) -> None:
    with pytest.raises(ValueError, match=r"nobody|only IRIs and literals"):
        store.select("SELECT ?o WHERE { ?s ?p ?o }", **binding)


def test_names_that_look_like_keywords_do_not_confuse_binding() -> None:
    query = "PREFIX : <http://e/> SELECT ?o WHERE { ?s :select ?o . ?o ex:SELECT ?s FILTER(?o<?s) }"
    assert bind(query, {"s": iri("a")}).count(str(iri("a"))) == 3


def test_select_refuses_other_forms(store: GraphStore) -> None:
    with pytest.raises(TypeError, match="SELECT"):
        store.select("ASK { ?s ?p ?o }")


@pytest.mark.parametrize(
    "format_", [RdfFormat.N_TRIPLES, RdfFormat.N_QUADS, RdfFormat.TURTLE, RdfFormat.TRIG, RdfFormat.JSON_LD]
)
def test_dump_and_load(store: GraphStore, format_: RdfFormat) -> None:
    store.extend(ALL)
    stream = io.BytesIO()
    store.dump(stream, format_)
    copy = GraphStore()
    copy.load(io.BytesIO(stream.getvalue()), format_)
    assert len(copy) == len(ALL)
    named = {str(triple) for triple in NAMED}
    assert named <= content(copy)
    again = len(store)
    store.replace(NAMED, [])
    store.load(io.BytesIO(stream.getvalue()), format_)
    assert named <= content(store)
    assert again <= len(store) <= again + 1  # a blank node of another document is another node


def test_a_broken_document_is_named_and_adds_nothing(store: GraphStore) -> None:
    broken = b"<http://e/a> <http://e/b> 1 .\n<http://e/a> <http://e/b> .\n"
    with pytest.raises(InputError, match="line 2"):
        store.load(io.BytesIO(broken), RdfFormat.TURTLE)
    assert len(store) == 0


def test_a_document_with_named_graphs_is_refused(store: GraphStore) -> None:
    named = (
        b"<http://e/a> <http://e/b> <http://e/c> .\n<http://e/a> <http://e/b> <http://e/c> <http://e/g> .\n"
    )
    with pytest.raises(InputError, match="named graph"):
        store.load(io.BytesIO(named), RdfFormat.N_QUADS)
    assert len(store) == 0
