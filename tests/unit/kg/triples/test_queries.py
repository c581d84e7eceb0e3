"""Each query of the catalogue, on a small graph whose answer is plain."""

import re

import pytest
from pyoxigraph import Literal, NamedNode

from kg.errors import InputError, UnknownEntityError
from kg.triples import iris
from kg.triples import vocabulary as names
from kg.triples.graph import GraphStore, Term
from kg.triples.queries import NamedQuery, catalogue, query_named, text_of
from kg.triples.serialisation import problem_triples, to_triples
from tests.samples.every_noun import BOOK, KNOWN, MEASURED, PROBLEM


@pytest.fixture(scope="module")
def store() -> GraphStore:
    filled = GraphStore()
    for noun in (*KNOWN, *MEASURED):
        filled.extend(to_triples(noun))
    filled.extend(problem_triples(PROBLEM, 1, [BOOK]))
    return filled


def plain(term: Term | None) -> object:
    """The last part of an IRI, the value of a literal."""
    match term:
        case NamedNode():
            return term.value.replace("#", "/").rpartition("/")[2]
        case Literal():
            return term.value if term.datatype == names.RDF_JSON else iris.value_of(term)
        case _:
            return term


OF_BOOK = ("documented", "high", "nominal", "A book", BOOK.url)
EXPECTED: dict[str, tuple[dict[str, str], list[tuple[object, ...]]]] = {
    "effects": (
        {"bottleneck": "slow-link", "hardware": "device"},
        [("overlap", "bert", "step_time", "measured", 2, 0, 20_000_000_000, "2026-01-01T00:00:00Z")],
    ),
    "strategies-against": (
        {"bottleneck": "slow-link"},
        [("overlap", "Overlap", "documented", BOOK.id, "A book")],
    ),
    "strategy-relations": (
        {"strategy": "overlap"},
        [
            ("conflict", "fp16", BOOK.id),
            ("contraindication", "communication", BOOK.id),
            ("mitigation", "slow-link", BOOK.id),
            ("requirement", "bf16", BOOK.id),
        ],
    ),
    "strategy-scope": (
        {"strategy": "overlap"},
        [
            ("appliesWhen", "devices > 1", "there is a link", BOOK.id),
            ("hasCaveat", None, "no gain on one device", BOOK.id),
        ],
    ),
    "cause-chain": (
        {"bottleneck": "slow-link"},
        [(*edge, "low", BOOK.id) for edge in (("cable", "plug"), ("plug", "socket"), ("slow-link", "cable"))],
    ),
    "provenance": (
        {"problem": PROBLEM.id},
        [("1", "2026-01-01T00:00:00Z", BOOK.id, "A book", BOOK.url, "page 1")],
    ),
    "hardware-facts": (
        {"hardware": "device"},
        [
            ("device", "clock_hz", 1.5e9, *OF_BOOK),
            ("device", "dies", "[1,2]", *OF_BOOK),
            ("vendor", "link_count", 7, *OF_BOOK),
            ("device", "memory_bytes", 64, *OF_BOOK),
            ("device", "memory_type", "HBM", *OF_BOOK),
        ],
    ),
    "disagreements": ({}, []),
    "models-of-family": ({"family": "bert"}, [("bert-large", "Bert-Large", "encoder", 340_000_000)]),
    "problems-on-hardware": (
        {"hardware": "device"},
        [(PROBLEM.id, "pretrain", "bert-large", "throughput")],
    ),
    "problems-of-operator": ({"operator": "pretrain"}, [("device", 1)]),
    "faults-by-code": ({"code": "507014"}, [("timeout", "slow", "wait", "overlap", "A book")]),
    "batches": ({}, [(1, "2026-01-01T00:00:00Z", "a", '{"problems":1}')]),
    "green-windows": ({"region": "fr"}, [(6, 24, 11.0, "A book"), (0, 9, 21.5, "A book")]),
    "sources": ({}, [(BOOK.id, "A book", BOOK.url, 24)]),
    "kinds": (
        {},
        [
            ("effectKind", "measured", 1),
            ("factKind", "documented", 6),
            ("strategyKind", "claimed", 2),
            ("strategyKind", "documented", 1),
            ("workloadKind", "training", 1),
        ],
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_query_answers_its_question(store: GraphStore, name: str) -> None:
    values, expected = EXPECTED[name]
    rows = query_named(name).run(store, values)
    assert [tuple(map(plain, row)) for row in rows] == expected


def test_every_query_of_the_catalogue_is_tested() -> None:
    assert set(catalogue()) == {*EXPECTED, "classes"}


@pytest.mark.parametrize("query", catalogue().values(), ids=lambda query: query.name)
def test_a_file_asks_with_the_parameters_and_prefixes_that_it_names(query: NamedQuery) -> None:
    prefixes = dict(re.findall(r"^PREFIX (\w+): <(.+)>$", query.sparql, re.MULTILINE))
    assert prefixes.items() <= names.PREFIXES.items()
    assert set(re.findall(r"\b(\w+):(?=\w)", query.sparql)) == prefixes.keys()
    variables = set(re.findall(r"\?(\w+)", query.sparql))
    assert {parameter.name for parameter in query.parameters} <= variables - set(query.columns)
    assert query.answers.rstrip(")").endswith(("?", "."))


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownEntityError) as caught:
        query_named("efects")
    assert "effects" in caught.value.hint


def test_a_missing_or_superfluous_parameter_is_named() -> None:
    with pytest.raises(InputError, match="id of a hardware node"):
        query_named("effects").run(GraphStore(), {"bottleneck": "x"})
    with pytest.raises(InputError, match="no parameters"):
        query_named("classes").run(GraphStore(), {"x": "y"})


def test_a_value_is_never_read_as_sparql() -> None:
    hostile = 'x" } ; DROP ALL #'
    assert list(query_named("problems-of-operator").run(GraphStore(), {"operator": hostile})) == []


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (Literal("words", language="en"), "words"),
        (iris.source_iri("a"), iris.name_of(iris.source_iri("a"))),
        (NamedNode("https://example.org/other"), "https://example.org/other"),
        (names.TG.EVIDENCE, names.TG.EVIDENCE.value),
    ],
)
def test_a_term_is_read_as_people_name_it(term: Term, text: str) -> None:
    assert text_of(term) == text
