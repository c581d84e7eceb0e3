"""Each query of the catalogue, on a small graph whose answer is plain."""

import re
from datetime import UTC, datetime

import pytest
from pyoxigraph import Literal, NamedNode

from kg.errors import InputError, UnknownEntityError
from kg.nouns.effects import Context, Effect
from kg.nouns.entities import Better, Hardware, Kind, Objective, Problem, Source, Workload, WorkloadKind
from kg.nouns.grid import GreenSchedule, GridRegion
from kg.nouns.knowledge import (
    Bottleneck,
    Cause,
    CauseEdge,
    Confidence,
    Fact,
    FactKind,
    FaultPattern,
    HardwareProfile,
    Level,
    Model,
    ModelFamily,
    Relation,
    Strategy,
)
from kg.nouns.provenance import Batch
from kg.nouns.scope import Caveat, ScopeClause
from kg.nouns.values import Settings
from kg.triples import iris
from kg.triples import vocabulary as names
from kg.triples.graph import GraphStore, Term
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.queries import NamedQuery, catalogue, query_named
from kg.triples.rdflib_store import RdflibStore
from kg.triples.serialisation import problem_triples, to_triples

BOOK = Source(title="A book", url="https://example.org/book", path="page 1")
PROBLEM = Problem(
    workload=Workload(
        kind=WorkloadKind.KERNEL, operator="gemm", model="bert-large", shape=Settings({"M": 16})
    ),
    hardware=Hardware(name="ascend-910b3", count=8),
    objective=Objective(metric="latency", better=Better.LOWER, unit="s"),
    bottlenecks=Settings({"slow-link": 0.5}),
)


def fact(name: str, value: int) -> Fact:
    return Fact(name=name, value=value, source=BOOK, kind=FactKind.DOCUMENTED, confidence=Confidence.HIGH)


def edge(cause: str) -> CauseEdge:
    return CauseEdge(cause=cause, confidence=Confidence.LOW, source=BOOK)


NOUNS = (
    HardwareProfile(id="huawei", labels={"en": "Huawei"}, level=Level.VENDOR, facts=(fact("link_count", 7),)),
    HardwareProfile(
        id="ascend-910b3",
        labels={"en": "Ascend 910B3", "zh": "昇腾910B3"},
        level=Level.DEVICE,
        broader="huawei",
        facts=(fact("memory_bytes", 64),),
    ),
    ModelFamily(id="bert", labels={"en": "BERT"}),
    Model(
        id="bert-large",
        labels={"en": "BERT-large"},
        family="bert",
        architecture="encoder",
        facts=(fact("parameters", 340),),
    ),
    Bottleneck(id="communication", labels={"en": "Communication"}),
    Bottleneck(
        id="slow-link",
        labels={"en": "Slow link"},
        broader="communication",
        caused_by=(edge("retransmission"),),
    ),
    Cause(
        id="retransmission", labels={"en": "Retransmission"}, source=BOOK, caused_by=(edge("loose-cable"),)
    ),
    Cause(id="loose-cable", labels={"en": "Loose cable"}, source=BOOK),
    Strategy(
        id="overlap",
        labels={"en": "Overlap", "zh": "通信掩盖"},
        kind="documented",
        mitigates=(Relation(target="slow-link", source=BOOK),),
        conflicts_with=(Relation(target="bf16", source=BOOK),),
        applies_when=(ScopeClause(condition="devices > 1", source=BOOK, reason="there is a link"),),
        caveats=(Caveat(text="warm up first", source=BOOK),),
        sources=(BOOK,),
    ),
    FaultPattern(
        id="timeout",
        labels={"en": "Time-out"},
        codes=("507014",),
        cause={"en": "too slow", "zh": "太慢"},
        remedy={"en": "be faster"},
        strategies=("overlap",),
        source=BOOK,
        confidence=Confidence.HIGH,
    ),
    GridRegion(id="fr", labels={"en": "France"}),
    GreenSchedule(region="fr", start_hour=0, end_hour=6, carbon_intensity_g_per_kwh=30.5, source=BOOK),
    GreenSchedule(region="fr", start_hour=12, end_hour=16, carbon_intensity_g_per_kwh=20.0, source=BOOK),
    Effect(
        context=Context(bottleneck="slow-link", hardware="ascend-910b3"),
        strategy="overlap",
        metric="step_time",
        kind=Kind.MEASURED,
        n=3,
        sum_unats=30,
        sum_squares_unats2=350,
    ),
    Batch(
        number=1, time=datetime(2026, 1, 2, tzinfo=UTC), files=("a.jsonl",), counts=Settings({"problems": 1})
    ),
)


@pytest.fixture(scope="module", params=[OxigraphStore, RdflibStore])
def store(request: pytest.FixtureRequest) -> GraphStore:
    filled: GraphStore = request.param()
    for noun in NOUNS:
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


BOOK_ID = BOOK.id
EXPECTED: dict[str, tuple[dict[str, str], list[tuple[object, ...]]]] = {
    "effects": (
        {"bottleneck": "slow-link", "hardware": "ascend-910b3"},
        [("overlap", None, "step_time", "measured", 3, 30, 350, None)],
    ),
    "strategies-against": (
        {"bottleneck": "slow-link"},
        [("overlap", "Overlap", "documented", BOOK_ID, "A book")],
    ),
    "strategy-relations": (
        {"strategy": "overlap"},
        [("conflict", "bf16", BOOK_ID), ("mitigation", "slow-link", BOOK_ID)],
    ),
    "strategy-scope": (
        {"strategy": "overlap"},
        [
            ("appliesWhen", "devices > 1", "there is a link", BOOK_ID),
            ("hasCaveat", None, "warm up first", BOOK_ID),
        ],
    ),
    "cause-chain": (
        {"bottleneck": "slow-link"},
        [
            ("retransmission", "loose-cable", "low", BOOK_ID),
            ("slow-link", "retransmission", "low", BOOK_ID),
        ],
    ),
    "provenance": (
        {"problem": PROBLEM.id},
        [("1", "2026-01-02T00:00:00Z", BOOK_ID, "A book", "https://example.org/book", "page 1")],
    ),
    "hardware-facts": (
        {"hardware": "ascend-910b3"},
        [
            ("huawei", "link_count", 7, "documented", "high", None, "A book", BOOK.url),
            ("ascend-910b3", "memory_bytes", 64, "documented", "high", None, "A book", BOOK.url),
        ],
    ),
    "disagreements": ({}, []),
    "models-of-family": ({"family": "bert"}, [("bert-large", "BERT-large", "encoder", 340)]),
    "problems-on-hardware": (
        {"hardware": "ascend-910b3"},
        [(PROBLEM.id, "gemm", "bert-large", "latency")],
    ),
    "problems-of-operator": ({"operator": "gemm"}, [("ascend-910b3", 1)]),
    "faults-by-code": ({"code": "507014"}, [("timeout", "too slow", "be faster", "overlap", "A book")]),
    "batches": ({}, [(1, "2026-01-02T00:00:00Z", "a.jsonl", '{"problems":1}')]),
    "green-windows": ({"region": "fr"}, [(12, 16, 20.0, "A book"), (0, 6, 30.5, "A book")]),
    "sources": ({}, [(BOOK_ID, "A book", BOOK.url, 11)]),
    "kinds": (
        {},
        [
            ("effectKind", "measured", 1),
            ("factKind", "documented", 3),
            ("strategyKind", "documented", 1),
            ("workloadKind", "kernel", 1),
        ],
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_query_answers_its_question(store: GraphStore, name: str) -> None:
    values, expected = EXPECTED[name]
    rows = query_named(name).run(store, values)
    assert [tuple(map(plain, row)) for row in rows] == expected


def test_classes_are_counted(store: GraphStore) -> None:
    counted = {plain(row[0]): plain(row[1]) for row in query_named("classes").run(store)}
    assert counted["Problem"] == 1
    assert counted["Cause"] == 2
    assert counted["Fact"] == 3
    assert counted["Concept"] == 11


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
        query_named("effects").run(OxigraphStore(), {"bottleneck": "x"})
    with pytest.raises(InputError, match="no parameters"):
        query_named("classes").run(OxigraphStore(), {"x": "y"})


def test_a_value_is_never_read_as_sparql() -> None:
    hostile = 'x" } ; DROP ALL #'
    assert list(query_named("problems-of-operator").run(OxigraphStore(), {"operator": hostile})) == []
