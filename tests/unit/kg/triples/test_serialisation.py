"""The exact triples of a problem, and what the graph says when something is missing."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, RdfFormat, Triple, parse

from kg.errors import UnknownEntityError, WorkspaceError
from kg.nouns.effects import Context
from kg.nouns.entities import Hardware, Limit, Problem, Source
from kg.nouns.knowledge import (
    Assignment,
    Bottleneck,
    CauseEdge,
    Confidence,
    Fact,
    FactKind,
    HardwareProfile,
    Level,
    Relation,
    Strategy,
)
from kg.nouns.provenance import Batch
from kg.nouns.scope import Caveat, ScopeClause
from kg.nouns.values import Settings
from kg.triples import iris
from kg.triples import vocabulary as names
from kg.triples.graph import GraphStore
from kg.triples.iris import literal
from kg.triples.serialisation import from_graph, newest_batch, problem_triples, to_triples
from kg.triples.vocabulary import RDF_TYPE, TG, Shared
from tests.samples.graphs import store_of
from tests.samples.problems import make_problem

BOOK = Source(
    title="ai-dynamo/aiconfigurator", url="https://github.com/ai-dynamo/aiconfigurator", licence="Apache-2.0"
)
DOCUMENT = (Path(__file__).parents[4] / "docs" / "ontology.md").read_text(encoding="utf-8")
PROBLEM = make_problem(
    "moe_layer",
    Hardware(name="a100-sxm4-80gb", reported="NVIDIA A100-SXM4-80GB", count=1),
    kind="operator",
    precision="bfloat16",
    shape={"num_tokens": 1, "hidden": 4096, "inter": 14336, "topk": 2, "experts": 8},
    traits={"distribution": "balanced"},
    unit="s",
    software={"sglang": "0.5.10"},
)


def test_the_documented_example_is_what_is_written() -> None:
    turtle = DOCUMENT.partition("```turtle")[2].partition("```")[0]
    documented = {quad.triple for quad in parse(turtle, RdfFormat.TURTLE)}
    assert documented == set(problem_triples(PROBLEM, 3, [BOOK]))


def test_the_documented_questions_are_answered() -> None:
    fact = Fact(
        name="memory_bytes", value=2**36, source=BOOK, kind=FactKind.DOCUMENTED, confidence=Confidence.HIGH
    )
    device = HardwareProfile(id="x", labels={"en": "X"}, level=Level.DEVICE, facts=(fact,))
    edge = CauseEdge(cause="cable", confidence=Confidence.LOW, source=BOOK)
    link = Bottleneck(id="slow-link", labels={"en": "Slow link"}, caused_by=(edge,))
    plug = Strategy(
        id="plug", labels={"en": "P"}, kind="claimed", mitigates=(Relation(target="cable", source=BOOK),)
    )
    store = store_of(device, link, plug)
    memory, remedies = (part.partition("```")[0] for part in DOCUMENT.split("```sparql")[1:3])
    assert [[str(term) for term in row[:1]] for row in store.select(memory)] == [['"X"@en']]
    assert list(store.select(remedies)) == [(iris.cause_iri("cable"), iris.strategy_iri("plug"))]


def test_problems_of_one_task_share_its_workload() -> None:
    other = Problem(
        workload=PROBLEM.workload, hardware=Hardware(name="ascend-910b3"), objective=PROBLEM.objective
    )
    store = GraphStore()
    store.extend(problem_triples(PROBLEM, 1, [BOOK]))
    before = len(store)
    store.extend(problem_triples(other, 1, [BOOK]))
    assert len(store) - before == 6


def test_known_bottlenecks_put_a_problem_into_contexts() -> None:
    problem = Problem(
        workload=PROBLEM.workload,
        hardware=PROBLEM.hardware,
        objective=PROBLEM.objective,
        bottlenecks=Settings({"slow-link": 0.25, "bubble": None}),
    )
    store = GraphStore()
    store.extend(problem_triples(problem, 1, [BOOK], family="moe"))
    node = iris.problem_iri(problem.id)
    contexts = {triple.object for triple in store.triples(node, TG.IN_CONTEXT)}
    assert contexts == {iris.context_iri(name, "a100-sxm4-80gb", "moe") for name in ("slow-link", "bubble")}
    assert {triple.object for triple in store.triples(None, RDF_TYPE, TG.CONTEXT)} == {TG.CONTEXT}
    assert from_graph(store, Problem, problem.id) == problem


def test_a_fact_is_a_statement_with_its_source_and_a_plain_value() -> None:
    fact = Fact(
        name="memory_bytes", value=64, source=BOOK, kind=FactKind.DOCUMENTED, confidence=Confidence.HIGH
    )
    device = HardwareProfile(
        id="x",
        labels={"en": "Device X(R)", "zh": "设备 X"},
        aliases=("DX",),
        level=Level.DEVICE,
        facts=(fact,),
    )
    store = store_of(device)
    node = iris.hardware_iri("x")
    assert [t.object for t in store.triples(node, iris.iri_of("property", "memory_bytes"))] == [literal(64)]
    statement = next(store.triples(node, TG.HAS_FACT)).object
    assert isinstance(statement, NamedNode)
    assert {t.predicate: t.object for t in store.triples(statement)} == {
        RDF_TYPE: TG.FACT,
        TG.FACT_NAME: literal("memory_bytes"),
        TG.VALUE: literal(64),
        TG.FACT_KIND: literal("documented"),
        TG.CONFIDENCE: literal("high"),
        Shared.DERIVED_FROM: iris.source_iri(BOOK.id),
        Shared.UNIT: names.UNITS["B"],
    }
    keys = {t.object for t in store.triples(node, TG.KEY)}
    assert keys == {literal("x"), literal("devicex"), literal("设备x"), literal("dx")}


def test_qualified_edges_have_a_plain_edge_beside_them() -> None:
    strategy = Strategy(
        id="s",
        labels={"en": "S"},
        kind="documented",
        mitigates=(Relation(target="slow-link", source=BOOK),),
        applies_when=(ScopeClause(condition="heads % 2 == 0", source=BOOK, reason="even heads"),),
        caveats=(Caveat(text="odd heads are padded", source=BOOK),),
        sets=(Assignment(parameter="use_flash", value=True),),
    )
    bottleneck = Bottleneck(
        id="b",
        labels={"en": "B"},
        caused_by=(CauseEdge(cause="cable", confidence=Confidence.LOW, source=BOOK),),
    )
    store = GraphStore()
    store.extend(to_triples(strategy) + to_triples(bottleneck))
    plain = {t.object for t in store.triples(iris.strategy_iri("s"), TG.MITIGATES)}
    assert plain == {iris.bottleneck_iri("slow-link")}
    assert list(store.triples(iris.strategy_iri("s"), TG.REQUIRES)) == []
    assert {t.object for t in store.triples(iris.bottleneck_iri("b"), TG.CAUSED_BY)} == {
        iris.cause_iri("cable")
    }
    assert {t.subject for t in store.triples(None, TG.KEY, literal("useflash"))} == {
        iris.parameter_iri("use_flash")
    }


def test_the_newest_batch_is_the_greatest_number() -> None:
    store = GraphStore()
    assert newest_batch(store) == 0
    for number in (9, 10, 2):
        store.extend(to_triples(Batch(number=number, time=datetime(2026, 1, 1, tzinfo=UTC))))
    assert newest_batch(store) == 10


def test_what_is_not_there_is_said() -> None:
    store = GraphStore()
    with pytest.raises(UnknownEntityError, match="no Problem 'abc'"):
        from_graph(store, Problem, "abc")
    store.extend([Triple(iris.problem_iri("abc"), RDF_TYPE, TG.PROBLEM)])
    with pytest.raises(WorkspaceError, match="problem/abc lacks workload"):
        from_graph(store, Problem, "abc")


def test_a_noun_without_a_node_of_its_own_is_refused() -> None:
    with pytest.raises(TypeError, match="knows no Limit"):
        to_triples(Limit(metric="m", maximum=1.0, unit="1"))
    with pytest.raises(TypeError, match="Context has no id"):
        from_graph(GraphStore(), Context, "x")


@pytest.mark.parametrize(
    ("number", "time"), [(0, datetime(2026, 1, 1, tzinfo=UTC)), (1, datetime(2026, 1, 1))]
)
def test_a_batch_that_cannot_be_is_refused(number: int, time: datetime) -> None:
    with pytest.raises(ValueError, match=r"numbered 0|no time zone"):
        Batch(number=number, time=time)
