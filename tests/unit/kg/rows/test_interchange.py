"""The union of two exports says what a merge says: in pyoxigraph and rdflib, and by the shapes."""

import io
import json
import math
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
import rdflib

from kg.errors import CaseFormatError, InputError
from kg.nouns.effects import Effect
from kg.nouns.entities import Trust
from kg.triples.graph import GraphStore
from kg.triples.queries import catalogue, query_named, text_of
from kg.triples.serialisation import all_of
from kg.triples.validation import validate
from recommender.store.ingestion import Options
from recommender.workspace.workspace import Workspace

KNOWLEDGE = """\
sources:
  guide: {{title: {title}, url: 'https://acme.example/one'}}
hardware:
  - {{id: acme, level: vendor, label: {{en: Acme}}}}
  - id: acme-one
    level: device
    broader: acme
    label: {{en: Acme One}}
    aliases: [一号]
    definition: The first of Acme.
    facts: {{memory_bytes: {{value: {memory}, kind: documented, confidence: high, source: guide}}}}
"""


def row(source: str, block: int, gain: float | None = None, value: float = 1.0) -> str:
    record: dict[str, Any] = {
        "task": {"kind": "kernel", "op": "toy", "shape": {"N": 64}},
        "hardware": {"name": "Acme One"},
        "config": {"block": block},
        "outcome": {"metric": "kernel_time", "unit": "ms", "value": value, "status": "ok"},
        "source": {"title": source, "licence": "MIT"},
    }
    if gain is not None:
        baseline = {"value": value * math.exp(gain), "config": {"block": 1}}
        record |= {"strategy": "tile-larger", "bottleneck": "slow-link", "baseline": baseline}
    return json.dumps(record) + "\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A workspace of one device and some files, a batch each, made on a day of its own; equal ones once."""

    @cache
    def make(name: str, day: int, *files: str, memory: int = 64, title: str = "Guide") -> Path:
        place = tmp_path_factory.mktemp("made")
        moment = datetime(2026, 3, day, tzinfo=UTC)
        Workspace.create(
            place / name, cache=place / "cache", text_model=None, with_shipped=False, clock=lambda: moment
        )
        knowledge = place / f"{name}.yaml"
        knowledge.write_text(KNOWLEDGE.format(memory=memory * 10**9, title=title))
        with Workspace.editor(place / name, cache=place / "cache", clock=lambda: moment) as editor:
            editor.add_file("hardware", knowledge)
            for number, content in enumerate(files):
                file = place / f"{name}{number}.jsonl"
                file.write_text(content)
                editor.ingest([file])
        return place / name

    return make


@pytest.fixture
def workspace(made: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """A copy of such a workspace, to be written to."""
    return lambda name, *files, **more: shutil.copytree(made(name, *files, **more), tmp_path / name)


def opened(path: Path) -> Workspace:
    return Workspace.open(path, cache=path.parent / "cache")


def exported(path: Path) -> bytes:
    out = path.parent / f"{path.name}.nq"
    with opened(path) as workspace:
        workspace.knowledge.export(out, force=True)
    return out.read_bytes()


def union(*documents: bytes) -> GraphStore:
    """The documents in a store of pyoxigraph's own."""
    store = pyoxigraph.Store()
    for document in documents:
        store.load(document, pyoxigraph.RdfFormat.N_QUADS)
    out = GraphStore()
    out.bulk_extend(quad.triple for quad in store)
    return out


def asked(store: GraphStore, name: str, **given: str) -> list[tuple[str | None, ...]]:
    rows = query_named(name).run(store, given)
    return [tuple(None if term is None else text_of(term) for term in row) for row in rows]


def test_the_union_is_what_a_merge_gives(workspace: Callable[..., Path]) -> None:
    shared = row("a", 8, 0.5) + row("b", 16, 0.25)
    one = workspace("one", 1, shared, row("a", 32, 0.125))
    other = workspace("other", 2, row("c", 8, 0.5), row("a", 64, -0.5) + row("c", 128))
    both = union(exported(one), exported(other))
    with opened(one) as joined:
        joined.knowledge.merge(other)
    merged = union(exported(one))
    assert validate(both.triples()) == []
    [effect] = asked(both, "effects", bottleneck="slow-link", hardware="acme-one")
    assert effect[4:6] == ("4", "375000")  # 0.5 of a and of c, the same row, counts once
    questions = [
        (query.name, given)
        for query in catalogue().values()
        if query.name not in {"batches", "classes", "provenance"}  # how it came is not the same story
        for given in (
            {"bottleneck": "slow-link", "hardware": "acme-one"},
            {"hardware": "acme-one"},
            {"operator": "toy"},
            {},
        )
        if given.keys() == {parameter.name for parameter in query.parameters}
    ]
    assert len(questions) >= 7
    for name, given in questions:
        assert sorted(asked(both, name, **given), key=str) == sorted(asked(merged, name, **given), key=str), (
            name
        )
    graph = rdflib.Graph()
    for triple in both.triples():
        graph.add(tuple(rdflib.util.from_n3(str(term)) for term in triple))  # type: ignore[arg-type]
    summed = graph.query(
        "SELECT (SUM(?n) AS ?count) (SUM(?s) AS ?sum) { ?part <https://w3id.org/tunegraph/ns#evidenceOf> ?effect ;"
        " <https://w3id.org/tunegraph/ns#n> ?n ; <https://w3id.org/tunegraph/ns#sumMicronats> ?s }"
    )
    assert [tuple(str(value) for value in found) for found in summed] == [("4", "375000")]  # type: ignore[union-attr]


def test_batches_of_two_workspaces_stay_apart(workspace: Callable[..., Path]) -> None:
    one, other = workspace("one", 1, row("a", 8)), workspace("other", 2, row("b", 16))
    batches = asked(union(exported(one), exported(other)), "batches")
    assert {batch[:2] for batch in batches} == {("1", "2026-03-02T00:00:00Z"), ("1", "2026-03-01T00:00:00Z")}
    generated = [
        triple for triple in union(exported(one)).triples() if "wasGeneratedBy" in triple.predicate.value
    ]
    assert len(generated) == 1


def test_an_effect_of_no_trusted_source_is_the_same_effect(
    workspace: Callable[..., Path], tmp_path: Path
) -> None:
    one = workspace("one", 1, row("a", 8, 0.5))
    low = tmp_path / "low.jsonl"
    low.write_text(row("b", 16, 0.25))
    with Workspace.editor(one, cache=tmp_path / "cache") as editor:
        editor.ingest([low], options=Options(trust=Trust.LOW))
    other = workspace("other", 2, row("b", 16, 0.25))
    both = union(exported(one), exported(other))
    assert validate(both.triples()) == []
    assert [row[4:6] for row in asked(both, "effects", bottleneck="slow-link", hardware="acme-one")] == [
        ("2", "750000")
    ]


def test_what_two_workspaces_state_differently_is_there_twice_and_shown(
    workspace: Callable[..., Path],
) -> None:
    one = workspace("one", 1, memory=64, title="Guide")
    other = workspace("other", 2, memory=80, title="Leaflet")
    both = union(exported(one), exported(other))
    assert validate(both.triples()) == []
    [shown] = asked(both, "disagreements")
    assert shown[:2] == ("acme-one", "memory_bytes")
    assert {(shown[2], shown[3]), (shown[4], shown[5])} == {
        ("64000000000", "Guide"),
        ("80000000000", "Leaflet"),
    }


def test_an_import_sums_evidence_up_again(workspace: Callable[..., Path], tmp_path: Path) -> None:
    one = workspace("one", 1, row("a", 8, 0.5) + row("b", 16, 0.25))
    exported(one)
    empty = workspace("empty", 2)
    with Workspace.editor(empty, cache=tmp_path / "cache") as editor:
        assert editor.import_graph(tmp_path / "one.nq") > 0
        assert editor.import_graph(tmp_path / "one.nq") == 0
    with opened(empty) as joined, opened(one) as origin:
        [here], [there] = list(all_of(joined.graph, Effect)), list(all_of(origin.graph, Effect))
        assert (here.n, here.sum_unats, here.sum_squares_unats2) == (2, 750_000, 312_500_000_000)
        assert here.about == there.about
    # what it knows without rows leaves it again, and is the same evidence wherever it goes
    assert asked(union(exported(empty)), "effects", bottleneck="slow-link", hardware="acme-one")[0][4] == "2"


def test_an_import_keeps_a_fact_that_is_stated_otherwise_here(
    workspace: Callable[..., Path], tmp_path: Path
) -> None:
    exported(workspace("one", 1, memory=64, title="Guide"))
    other = workspace("other", 2, memory=80, title="Leaflet")
    with Workspace.editor(other, cache=tmp_path / "cache") as editor:
        assert editor.import_graph(tmp_path / "one.nq") > 0
    with opened(other) as joined:
        [shown] = joined.knowledge.query("disagreements").rows
    assert shown[:2] == ("acme-one", "memory_bytes")
    assert {shown[2], shown[4]} == {"64000000000", "80000000000"}


def test_other_gains_of_one_effect_are_for_a_merge(workspace: Callable[..., Path], tmp_path: Path) -> None:
    one, other = workspace("one", 1, row("a", 8, 0.5)), workspace("other", 2, row("b", 16, 0.25))
    exported(one)
    with (
        Workspace.editor(other, cache=tmp_path / "cache") as editor,
        pytest.raises(InputError, match="rests on 1 gains here") as refused,
    ):
        editor.import_graph(tmp_path / "one.nq")
    assert "workspace merge" in refused.value.hint


def test_an_export_of_a_newer_version_is_refused(workspace: Callable[..., Path], tmp_path: Path) -> None:
    newer = tmp_path / "newer.nq"
    newer.write_bytes(exported(workspace("one", 1)).replace(b'versionInfo> "2"', b'versionInfo> "3"'))
    with (
        Workspace.editor(workspace("empty", 2), cache=tmp_path / "cache") as editor,
        pytest.raises(InputError, match="version 3 of the vocabulary"),
    ):
        editor.import_graph(newer)


@pytest.mark.parametrize(
    ("text", "instead"),
    [(b'#n> "1"', b'#n> "many"'), (b"#evidenceOf>", b"#evidence>"), (b"#sumMicronats> ", b"#sum> ")],
)
def test_damaged_evidence_is_refused(
    workspace: Callable[..., Path], tmp_path: Path, text: bytes, instead: bytes
) -> None:
    content = exported(workspace("one", 1, row("a", 8, 0.5)))
    assert text in content
    (tmp_path / "bad.nq").write_bytes(content.replace(text, instead))
    with (
        Workspace.editor(workspace("empty", 2), cache=tmp_path / "cache") as editor,
        pytest.raises((InputError, CaseFormatError)),
    ):
        editor.import_graph(tmp_path / "bad.nq")


def test_every_form_holds_the_same(workspace: Callable[..., Path], tmp_path: Path) -> None:
    path = workspace("one", 1, row("a", 8, 0.5))
    lines = set(exported(path).splitlines())
    with opened(path) as workspace_:
        workspace_.knowledge.export(tmp_path / "one.ttl")
    turtle = io.BytesIO((tmp_path / "one.ttl").read_bytes())
    again = {f"{quad.triple} ." for quad in pyoxigraph.parse(turtle, pyoxigraph.RdfFormat.TURTLE)}
    assert again == {line.decode() for line in lines}
