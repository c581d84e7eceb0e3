"""Out and in again gives the same graph, in every format."""

import io
from datetime import UTC, datetime

import pytest
import rdflib
from pyoxigraph import Literal, NamedNode, Triple
from rdflib.compare import isomorphic

from kg.errors import InputError
from kg.nouns.entities import Better, Hardware, Limit, Objective, Problem, Source, Workload, WorkloadKind
from kg.nouns.knowledge import Confidence, Fact, FactKind, HardwareProfile, Level
from kg.nouns.provenance import Batch
from kg.nouns.values import Settings
from kg.triples import vocabulary as names
from kg.triples.exchange import FORMATS, SUFFIXES, export_triples, format_named, import_graph, typed_text
from kg.triples.graph import GraphStore
from kg.triples.serialisation import from_graph, newest_batch, problem_triples, to_triples
from kg.triples.validation import rdflib_graph
from kg.triples.vocabulary import GRAPH, NAMESPACE, TG, VERSION, VERSION_INFO, XSD_ANY_URI, Shared

BOOK = Source(title='A "book"\n\\ with a tab\t', note="第一页")
PROBLEM = Problem(
    workload=Workload(
        kind=WorkloadKind.KERNEL,
        operator="gemm",
        shape=Settings({"M": 2**70, "x": 1e300, "y": 0.1, "t": [[1, "a"], None], "flag": True, "empty": ""}),
    ),
    hardware=Hardware(name="昇腾 910B3", traits=Settings({"link": "HCCS"})),
    objective=Objective(metric="latency", better=Better.LOWER, unit="s"),
    limits=(Limit(metric="loss", maximum=0.005, unit="1"),),
    bottlenecks=Settings({"slow-link": 0.5}),
)
DEVICE = HardwareProfile(
    id="ascend-910b3",
    labels={"en": "Ascend 910B3", "zh": "昇腾910B3"},
    level=Level.DEVICE,
    facts=(
        Fact(
            name="memory_bytes",
            value=64e9,
            source=BOOK,
            kind=FactKind.DOCUMENTED,
            confidence=Confidence.HIGH,
        ),
    ),
)


@pytest.fixture
def store() -> GraphStore:
    filled = GraphStore()
    filled.extend(problem_triples(PROBLEM, 3, [BOOK]) + to_triples(DEVICE))
    filled.extend(to_triples(Batch(number=3, time=datetime(2026, 1, 2, tzinfo=UTC), files=("a",))))
    return filled


@pytest.mark.parametrize("form", FORMATS)
def test_a_graph_comes_back_the_same(store: GraphStore, form: str) -> None:
    stream = io.BytesIO()
    export_triples(store.triples(), stream, form)
    stream.seek(0)
    back = GraphStore()
    assert import_graph(back, stream, form) == len(store)
    assert set(back.triples()) == set(store.triples())
    assert from_graph(back, Problem, PROBLEM.id) == PROBLEM


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")
@pytest.mark.parametrize(
    ("form", "theirs"),
    [("turtle", "turtle"), ("ntriples", "nt"), ("nquads", "nquads"), ("trig", "trig"), ("jsonld", "json-ld")],
)
def test_another_library_reads_the_same_graph(
    store: GraphStore, form: str, theirs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rdflib, "NORMALIZE_LITERALS", False)
    stream = io.BytesIO()
    export_triples(store.triples(), stream, form)
    dataset = rdflib.Dataset(default_union=True)
    dataset.parse(data=stream.getvalue(), format=theirs)
    read = rdflib.Graph()
    for triple in dataset.triples((None, None, None)):
        read.add(triple)
    assert len(read) == len(store)
    assert isomorphic(read, rdflib_graph(store.triples()))


def test_a_part_can_be_exported_alone(store: GraphStore) -> None:
    stream = io.BytesIO()
    export_triples(to_triples(DEVICE), stream, "part.ttl")
    text = stream.getvalue().decode()
    assert "skos:prefLabel" in text
    assert "tg:Problem" not in text


def test_importing_twice_changes_nothing(store: GraphStore) -> None:
    stream = io.BytesIO()
    export_triples(store.triples(), stream, "nquads")
    before = set(store.triples())
    stream.seek(0)
    import_graph(store, stream, "nquads")
    assert set(store.triples()) == before


def test_batches_of_another_workspace_can_stay_out(store: GraphStore) -> None:
    stream = io.BytesIO()
    export_triples(store.triples(), stream, "ntriples")
    stream.seek(0)
    ours = GraphStore()
    ours.extend(to_triples(Batch(number=1, time=datetime(2026, 1, 1, tzinfo=UTC))))
    import_graph(ours, stream, "ntriples", batches=False)
    assert newest_batch(ours) == 1
    assert from_graph(ours, Problem, PROBLEM.id) == PROBLEM
    assert list(ours.triples(None, names.TG.BATCH_OF)) == []


@pytest.mark.parametrize(
    ("document", "form", "message"),
    [
        (b"<a> <b> .", "turtle", "not Turtle"),
        (b"\xff\xfe\x00binary", "ntriples", "not N-Triples"),
        (b"{", "jsonld", "not JSON-LD"),
        (b'<https://x.org/a> <https://x.org/b> "c" <https://x.org/g> .', "nquads", "named graph"),
        (b'_:a <https://x.org/b> "c" .', "turtle", "blank node"),
        (b"<https://x.org/a> <https://x.org/b> [] .", "turtle", "blank node"),
        (
            b'<https://x.org/a> <https://x.org/b> "fine" .\n<https://x.org/a> <https://x.org/b> ',
            "ntriples",
            "line 2",
        ),
    ],
)
def test_a_bad_document_changes_nothing(document: bytes, form: str, message: str) -> None:
    store = GraphStore()
    with pytest.raises(InputError, match=message):
        import_graph(store, io.BytesIO(document), form)
    assert len(store) == 0


def test_a_document_that_does_not_fit_in_memory_passes_through_a_file() -> None:
    node = NamedNode("https://example.org/node")
    many = (Triple(node, names.TG.FILE, Literal(f"{number:0400d}")) for number in range(50_000))
    stream = io.BytesIO()
    export_triples(many, stream, "ntriples")
    stream.seek(0)
    store = GraphStore()
    assert import_graph(store, stream, "ntriples") == 50_000
    assert len(store) == 50_000


def test_a_format_is_known_by_name_and_by_file_name() -> None:
    for suffix, name in SUFFIXES.items():
        assert format_named(f"Graph{suffix.upper()}") == format_named(name) == FORMATS[name]
    with pytest.raises(InputError, match="no format 'rdf/xml'") as caught:
        format_named("rdf/xml")
    assert "turtle" in caught.value.hint


def test_plain_texts_get_their_datatype_or_language() -> None:
    source, device = (NamedNode(f"{NAMESPACE}{name}") for name in ("source/b", "hardware/c"))
    for triple, today in (
        (
            Triple(source, TG.URL, Literal("https://acme.example")),
            Triple(source, TG.URL, Literal("https://acme.example", datatype=XSD_ANY_URI)),
        ),
        (
            Triple(device, Shared.DEFINITION, Literal("A chip.")),
            Triple(device, Shared.DEFINITION, Literal("A chip.", language="en")),
        ),
        (
            Triple(device, Shared.ALT_LABEL, Literal("昇腾")),
            Triple(device, Shared.ALT_LABEL, Literal("昇腾", language="zh")),
        ),
        (
            Triple(device, Shared.ALT_LABEL, Literal("910B")),
            Triple(device, Shared.ALT_LABEL, Literal("910B")),
        ),
        (Triple(device, Shared.DERIVED_FROM, source), Triple(device, Shared.DERIVED_FROM, source)),
    ):
        assert typed_text(triple) == today
        assert typed_text(today) == today


def test_only_the_version_of_the_vocabulary_is_one() -> None:
    """A number of another fact of the graph says nothing of it."""

    def read(predicate: str, value: int) -> int:
        line = f'<{GRAPH.value}> <{predicate}> "{value}" .\n'
        return import_graph(GraphStore(), io.BytesIO(line.encode()), "nquads", batches=False)

    assert read(VERSION_INFO.value, VERSION) == 0  # this graph has its own
    assert read("http://www.w3.org/2000/01/rdf-schema#comment", VERSION + 1) == 0
    with pytest.raises(InputError, match=f"written in version {VERSION + 1} of the vocabulary"):
        read(VERSION_INFO.value, VERSION + 1)
