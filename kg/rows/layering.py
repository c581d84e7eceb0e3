"""The statements that a graph has above its base, and the same above a newer state of that base."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode, RdfFormat

from kg.triples.knowledge_content import differences
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.serialisation import description
from kg.triples.validation import KNOWLEDGE
from kg.triples.vocabulary import NAMESPACE, RDF_TYPE, TG, Shared

if TYPE_CHECKING:
    from pyoxigraph import Triple

    from kg.triples.graph import GraphStore
    from kg.triples.knowledge_content import Difference

_STATEMENT = f"{NAMESPACE}statement/"
_KEPT_BY_WRITER = frozenset({TG.BATCH, TG.EFFECT})
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


class StatedGraph:
    """A graph with its statements as lines of N-Triples, which are written out once, when they are needed.

    Attributes:
        graph: The graph; it does not change while this is used.
    """

    def __init__(self, graph: GraphStore) -> None:
        self.graph = graph

    @cached_property
    def lines(self) -> frozenset[bytes]:
        """Its statements."""
        stream = BytesIO()
        self.graph.dump(stream, RdfFormat.N_TRIPLES)
        return frozenset(stream.getvalue().splitlines(keepends=True))


def knowledge_layer(graph: StatedGraph, base: StatedGraph | None, fresh: StatedGraph) -> KnowledgeLayer:
    """Tell what a graph describes otherwise than its base, in terms of a newer state of the base.

    A node is taken over as a whole or not at all.

    Args:
        graph: The graph.
        base: Its base as it was; None where nobody kept it: then what the graph describes and ``fresh`` does
            not is above the base, and everything else is not.
        fresh: Its base as it is now.
    """
    if base is None:
        changed = [node for node in changed_nodes(fresh, graph) if not any(fresh.graph.triples(node))]
    else:
        changed = changed_nodes(base, graph)
    removed: list[Triple] = []
    added: list[Triple] = []
    conflicts: list[Difference] = []
    for node in changed:
        here, there = set(description(graph.graph, node)), set(description(fresh.graph, node))
        removed += there - here
        added += here - there
        if base is not None and here != there and set(description(base.graph, node)) != there:
            conflicts += differences(there, here)
    return KnowledgeLayer(
        removed=tuple(removed),
        added=tuple(added),
        nodes=tuple(node.value.removeprefix(NAMESPACE) for node in changed),
        conflicts=tuple(conflicts),
    )


def changed_nodes(before: StatedGraph, after: StatedGraph) -> list[NamedNode]:
    """Return the nodes of the knowledge that two graphs describe differently, sorted; sources are none."""
    changed = OxigraphStore()
    changed.load(BytesIO(b"".join(before.lines ^ after.lines)), RdfFormat.N_TRIPLES)
    owners = {triple.subject for triple in changed.triples() if isinstance(triple.subject, NamedNode)}
    for node in [node for node in owners if node.value.startswith(_STATEMENT)]:
        owners.remove(node)
        for stated in (before, after):
            pointing = stated.graph.triples(None, None, node)
            owners.update(triple.subject for triple in pointing if isinstance(triple.subject, NamedNode))
    known = {node for node in owners for stated in (before, after) if _is_knowledge(stated.graph, node)}
    return sorted(known, key=lambda node: node.value)


def left_over(graph: GraphStore, own_lines: frozenset[bytes], fresh: GraphStore) -> list[Triple]:
    """Return what a graph says above its base of nodes that the new graph does not describe at all.

    What came without rows is left over once all else was taken over: problems of an imported graph, sources
    of facts, contexts.

    Args:
        graph: The graph.
        own_lines: Its statements that its base had not; see :class:`StatedGraph`.
        fresh: The new graph.
    """
    own = OxigraphStore()
    own.load(BytesIO(b"".join(own_lines)), RdfFormat.N_TRIPLES)
    subjects = {triple.subject for triple in own.triples() if isinstance(triple.subject, NamedNode)}
    missing = {
        node
        for node in subjects
        if not any(fresh.triples(node))
        and not any(kind.object in _KEPT_BY_WRITER for kind in graph.triples(node, RDF_TYPE))
    }
    return [
        triple
        for triple in own.triples()
        if triple.subject in missing and triple.predicate not in {TG.BATCH_OF, Shared.GENERATED_BY}
    ]


def _is_knowledge(graph: GraphStore, node: NamedNode) -> bool:
    kinds = (triple.object for triple in graph.triples(node, RDF_TYPE))
    return any(kind in KNOWLEDGE and kind != TG.SOURCE for kind in kinds)
