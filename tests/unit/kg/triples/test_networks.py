"""Chains of causes, circles refused, strategies that exclude each other."""

from __future__ import annotations

import pytest

from kg.errors import InputError, UnknownEntityError
from kg.nouns.entities import Source
from kg.nouns.knowledge import Bottleneck, Cause, CauseEdge, Confidence, Relation, Strategy
from kg.triples.networks import (
    cause_chains,
    cause_graph,
    compatible,
    conflict_graph,
    conflict_sets,
    conflicts,
    hardware_graph,
    hardware_steps,
)
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.serialisation import to_triples

SOURCE = Source(title="a document")


def causes(*names: str) -> tuple[CauseEdge, ...]:
    return tuple(CauseEdge(cause=name, confidence=Confidence.MEDIUM, source=SOURCE) for name in names)


def strategy(id_: str, *excluded: str) -> Strategy:
    relations = tuple(Relation(target=name, source=SOURCE) for name in excluded)
    return Strategy(
        id=id_, labels={"en": id_}, kind="documented", conflicts_with=relations, sources=(SOURCE,)
    )


def store_of(*nouns: object) -> OxigraphStore:
    store = OxigraphStore()
    for noun in nouns:
        store.extend(to_triples(noun))
    return store


CHAIN = (
    Bottleneck(id="wait", labels={"en": "wait"}, caused_by=causes("link", "skew")),
    Bottleneck(id="link", labels={"en": "link"}, caused_by=causes("retransmission")),
    Cause(id="retransmission", labels={"en": "retransmission"}, caused_by=causes("cable"), source=SOURCE),
    Cause(id="cable", labels={"en": "cable"}, caused_by=causes("dust"), source=SOURCE),
    Cause(id="skew", labels={"en": "skew"}, source=SOURCE),
)


def test_chains_reach_as_deep_as_asked() -> None:
    graph = cause_graph(store_of(*CHAIN))
    assert cause_chains(graph, "wait") == [("wait", "link", "retransmission", "cable"), ("wait", "skew")]
    assert cause_chains(graph, "wait", depth=1) == [("wait", "link"), ("wait", "skew")]
    assert cause_chains(graph, "wait", depth=9)[0][-1] == "dust"
    assert cause_chains(graph, "skew") == []
    assert graph.edges["wait", "link"]["confidence"] == "medium"


def test_an_unknown_start_is_told() -> None:
    with pytest.raises(UnknownEntityError, match="'nothing'"):
        cause_chains(cause_graph(store_of(*CHAIN)), "nothing")


def test_a_circle_is_refused_and_named() -> None:
    back = Cause(id="dust", labels={"en": "dust"}, caused_by=causes("link"), source=SOURCE)
    named = "cable is caused by dust is caused by link is caused by retransmission is caused by cable"
    with pytest.raises(InputError, match=named):
        cause_graph(store_of(*CHAIN, back))


def test_strategies_that_exclude_each_other() -> None:
    graph = conflict_graph(
        store_of(strategy("a", "b", "c"), strategy("b", "c"), strategy("d", "a"), strategy("e"))
    )
    assert conflicts(graph, ["c", "e", "b", "d"]) == [("b", "c")]
    assert conflict_sets(graph) == [("a", "b", "c"), ("a", "d")]
    assert compatible(graph, ["d", "c", "a", "e", "b", "d"]) == ["d", "c", "e"]


def test_hardware_that_is_not_there_is_told() -> None:
    with pytest.raises(UnknownEntityError, match="'h100'"):
        hardware_steps(hardware_graph(store_of()), "h100", "h100")
