"""The knowledge of a graph is taken out, written, read and compared as a set of triples."""

import io
from dataclasses import replace

import pytest
from pyoxigraph import Triple

from kg.errors import InputError
from kg.nouns.entities import Source, Trust
from kg.nouns.knowledge import Bottleneck, Cause, CauseEdge, Confidence, Strategy
from kg.triples.iris import literal, source_iri
from kg.triples.knowledge_content import (
    Difference,
    differences,
    knowledge_among,
    knowledge_content,
    lines,
    read_lines,
    trusts,
    without_trust,
)
from kg.triples.serialisation import problem_triples
from kg.triples.vocabulary import TG
from tests.samples.graphs import store_of
from tests.samples.problems import make_problem

SOURCE = Source(title="a document")
STRATEGY = Strategy(id="overlap", labels={"en": "overlap"}, kind="documented", sources=(SOURCE,))
DISTRUST = Triple(source_iri(SOURCE.id), TG.TRUST, literal(Trust.LOW.value))


def test_a_version_holds_knowledge_and_trust_but_no_evidence() -> None:
    problem = make_problem("copy", "ascend", kind="operator")
    store = store_of(STRATEGY)
    knowledge = knowledge_content(store)
    store.extend([*problem_triples(problem, 1, [SOURCE]), DISTRUST])
    assert knowledge_content(store) == knowledge | {DISTRUST} == knowledge_among(store.triples())
    assert trusts(knowledge_content(store)) == {SOURCE.id: Trust.LOW}
    assert without_trust([DISTRUST]) == []


def test_content_is_written_sorted_and_read_back() -> None:
    content = knowledge_content(store_of(STRATEGY))
    text = lines(content)
    assert text == sorted(text)
    assert read_lines(io.BytesIO("".join(text).encode())) == content
    with pytest.raises(InputError):
        read_lines(io.BytesIO(b"no triples"))


def test_versions_differ_by_node_and_a_statement_is_said_of_its_owner() -> None:
    edge = CauseEdge(cause="cable", confidence=Confidence.MEDIUM, source=SOURCE)
    cable = Cause(id="cable", labels={"en": "cable"}, source=SOURCE)
    wait = Bottleneck(id="wait", labels={"en": "wait"})
    before = knowledge_content(store_of(STRATEGY, wait, cable))
    after = knowledge_content(
        store_of(replace(STRATEGY, kind="claimed"), replace(wait, caused_by=(edge,)), cable)
    )
    assert differences(before, before) == []
    of_wait, of_overlap = differences(before, after)
    assert of_overlap == Difference(
        about="strategy/overlap", gone=("strategyKind documented",), come=("strategyKind claimed",)
    )
    assert of_wait.about == "pattern/wait"
    assert of_wait.gone == ()
    assert any(text.startswith("hasCauseEdge (") and "confidence medium" in text for text in of_wait.come)
