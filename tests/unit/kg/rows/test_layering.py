"""Layers of a graph above a base and above a newer state of it: changes are kept, those of both are told."""

from pyoxigraph import Literal, NamedNode, Triple

from kg.rows.layering import KnowledgeByNode, knowledge_layer
from kg.triples.vocabulary import NAMESPACE

NODES = [NamedNode(f"{NAMESPACE}strategy/{name}") for name in ("both", "here", "there", "alike", "new")]
SAYS = NamedNode("http://example.org/says")


def state(*texts: str) -> KnowledgeByNode:
    """The text of each node, empty where it is not there."""
    return {
        node: frozenset({Triple(node, SAYS, Literal(text))})
        for node, text in zip(NODES, texts, strict=True)
        if text
    }


HERE = state("mine", "mine", "old", "same", "mine")
BASE = state("old", "old", "old", "old", "")
FRESH = state("theirs", "old", "theirs", "same", "")


def test_what_was_changed_here_stays_and_a_conflict_is_what_the_base_changed_otherwise() -> None:
    layer = knowledge_layer(HERE, BASE, FRESH)
    assert layer.nodes == ("strategy/alike", "strategy/both", "strategy/here", "strategy/new")
    assert set(layer.added) == {Triple(NODES[place], SAYS, Literal("mine")) for place in (0, 1, 4)}
    assert set(layer.removed) == {
        Triple(NODES[place], SAYS, Literal(text)) for place, text in ((0, "theirs"), (1, "old"))
    }
    assert len(layer.conflicts) == 1
