"""The statements that a graph has above its base, and the same above a newer state of that base."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyoxigraph import NamedNode

from kg.triples.knowledge_content import differences
from kg.triples.serialisation import description
from kg.triples.validation import KNOWLEDGE
from kg.triples.vocabulary import NAMESPACE, RDF_TYPE, TG, Shared

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from pyoxigraph import Triple

    from kg.triples.graph import GraphStore
    from kg.triples.knowledge_content import Difference

KnowledgeByNode: TypeAlias = "Mapping[NamedNode, Set[Triple]]"
_NOTHING: Set[Triple] = frozenset()
_KEPT_BY_WRITER = (TG.BATCH, TG.EFFECT)
"""Classes of nodes that the writer makes while it takes in cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeLayer:
    """The knowledge of a graph above its base, as a change of a newer state of the base.

    Attributes:
        removed: Statements of the newer base that do not hold here.
        added: Statements that hold here.
        nodes: Names of the nodes that are described here, such as ``strategy/overlap``.
        conflicts: Nodes that the base changed too: from what it says to what holds here.
    """

    removed: tuple[Triple, ...]
    added: tuple[Triple, ...]
    nodes: tuple[str, ...]
    conflicts: tuple[Difference, ...]


def described_knowledge(graph: GraphStore) -> KnowledgeByNode:
    """Return the statements of every node of the knowledge; sources are none."""
    kinds = (kind for kind in KNOWLEDGE if kind != TG.SOURCE)
    return {node: frozenset(description(graph, node)) for node in _nodes(graph, *kinds)}


def knowledge_layer(graph: KnowledgeByNode, base: KnowledgeByNode, fresh: KnowledgeByNode) -> KnowledgeLayer:
    """Extract the knowledge of a graph above its base, in terms of a newer state of the base.

    A node is taken over as a whole or not at all.

    Args:
        graph: The knowledge of the graph.
        base: That of its base as it was.
        fresh: That of its base as it is now.
    """
    changed = changed_nodes(base, graph)
    removed: list[Triple] = []
    added: list[Triple] = []
    conflicts: list[Difference] = []
    for node in changed:
        here, there = graph.get(node, _NOTHING), fresh.get(node, _NOTHING)
        removed += there - here
        added += here - there
        if here != there and base.get(node, _NOTHING) != there:
            conflicts += differences(there, here)
    return KnowledgeLayer(
        removed=tuple(removed),
        added=tuple(added),
        nodes=tuple(node.value.removeprefix(NAMESPACE) for node in changed),
        conflicts=tuple(conflicts),
    )


def changed_nodes(before: KnowledgeByNode, after: KnowledgeByNode) -> list[NamedNode]:
    """Return the nodes that two states of the knowledge describe differently, sorted."""
    nodes = before.keys() | after.keys()
    return sorted((node for node in nodes if before.get(node) != after.get(node)), key=_name)


def left_over(graph: GraphStore, base: GraphStore, fresh: GraphStore) -> list[Triple]:
    """Return statements above the base about nodes that the new graph does not describe at all.

    What came without rows is left over once all else was taken over: problems of an imported graph, sources
    of facts, contexts. A problem of the base has nothing of its own: its id is made of what it says.

    Args:
        graph: The graph.
        base: Its base.
        fresh: The new graph.
    """
    missing = _nodes(graph) - _nodes(fresh) - _nodes(base, TG.PROBLEM) - _nodes(graph, *_KEPT_BY_WRITER)
    return [
        triple
        for node in missing
        for triple in set(graph.triples(node)).difference(base.triples(node))
        if triple.predicate not in {TG.BATCH_OF, Shared.GENERATED_BY}
    ]


def _nodes(graph: GraphStore, *kinds: NamedNode) -> set[NamedNode]:
    """The named nodes of some classes; of any class where none is given."""
    typed = (triple for kind in kinds or (None,) for triple in graph.triples(None, RDF_TYPE, kind))
    return {triple.subject for triple in typed if isinstance(triple.subject, NamedNode)}


def _name(node: NamedNode) -> str:
    return node.value
