"""Small graphs drawn from the knowledge: what causes what, what excludes what, how hardware hangs together.

networkx is imported here at the top, so this module is imported late.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import networkx as nx
from pyoxigraph import Literal, NamedNode

from kg.errors import InputError, UnknownEntityError
from kg.triples.vocabulary import TG, Shared, hardware_iri, name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kg.triples.graph import GraphStore

    Directed: TypeAlias = "nx.DiGraph[str]"
    Undirected: TypeAlias = "nx.Graph[str]"

_CAUSES = """
    SELECT ?pattern ?cause ?confidence WHERE {
        ?pattern ?hasEdge ?edge . ?edge ?target ?cause ; ?trust ?confidence
    }
"""


def cause_graph(store: GraphStore) -> Directed:
    """What may be behind what: an edge from each bottleneck or cause to each of its causes.

    Nodes are ids; edges have a ``confidence``: ``"high"``, ``"medium"`` or ``"low"``.

    Raises:
        InputError: Something causes itself in the end; the message names the circle.
    """
    graph: Directed = nx.DiGraph()
    rows = store.select(_CAUSES, hasEdge=TG.HAS_CAUSE_EDGE, target=TG.TARGET, trust=TG.CONFIDENCE)
    for pattern, cause, confidence in rows:
        if (
            isinstance(pattern, NamedNode)
            and isinstance(cause, NamedNode)
            and isinstance(confidence, Literal)
        ):
            graph.add_edge(name_of(pattern), name_of(cause), confidence=confidence.value)
    refuse_circle(graph)
    return graph


def refuse_circle(graph: Directed) -> None:
    """Refuse a cause graph in which something causes itself in the end.

    Raises:
        InputError: The message names one circle, from its alphabetically first member on.
    """
    try:
        circle = [edge[0] for edge in nx.find_cycle(graph)]
    except nx.NetworkXNoCycle:
        return
    start = circle.index(min(circle))
    named = [*circle[start:], *circle[:start], circle[start]]
    raise InputError(
        f"causes go round in a circle: {' is caused by '.join(named)}", hint="take one of these edges out"
    )


def cause_chains(graph: Directed, start: str, depth: int = 3) -> list[tuple[str, ...]]:
    """Chains of causes behind ``start``, each as long as it gets within ``depth`` causes, sorted.

    ``start`` is the first member of each; there are none if nothing is known to cause it.

    Raises:
        UnknownEntityError: The graph does not have ``start``.
    """
    if start not in graph:
        raise UnknownEntityError(f"no causes are known around {start!r}")
    chains: list[tuple[str, ...]] = []
    open_ends: list[tuple[str, ...]] = [(start,)]
    while open_ends:
        chain = open_ends.pop()
        causes = list(graph.successors(chain[-1])) if len(chain) <= depth else []
        open_ends.extend((*chain, cause) for cause in causes)
        if not causes and len(chain) > 1:
            chains.append(chain)
    return sorted(chains)


def conflict_graph(store: GraphStore) -> Undirected:
    """Which strategies cannot be combined: an edge between the ids of any two that exclude each other."""
    graph: Undirected = nx.Graph()
    for triple in store.triples(None, TG.CONFLICTS_WITH):
        if isinstance(triple.subject, NamedNode) and isinstance(triple.object, NamedNode):
            graph.add_edge(name_of(triple.subject), name_of(triple.object))
    return graph


def conflicts(graph: Undirected, strategies: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of the given strategies that exclude each other, sorted."""
    return [pair for pair in combinations(sorted(set(strategies)), 2) if graph.has_edge(*pair)]


def conflict_sets(graph: Undirected) -> list[tuple[str, ...]]:
    """Largest sets of strategies of which only one can be chosen, sorted."""
    return sorted(tuple(sorted(clique)) for clique in nx.find_cliques(graph) if len(clique) > 1)


def compatible(graph: Undirected, ranked: Sequence[str]) -> list[str]:
    """The best strategies that can be combined: each in turn, unless an earlier one excludes it."""
    chosen: list[str] = []
    for strategy in ranked:
        if strategy not in chosen and not any(graph.has_edge(strategy, other) for other in chosen):
            chosen.append(strategy)
    return chosen


def hardware_graph(store: GraphStore) -> Undirected:
    """The hardware tree as an undirected graph of ids; what is above or below is one step away."""
    graph: Undirected = nx.Graph()
    prefix = hardware_iri("").value
    for triple in store.triples(None, Shared.BROADER):
        node, target = triple.subject, triple.object
        if isinstance(node, NamedNode) and isinstance(target, NamedNode) and node.value.startswith(prefix):
            graph.add_edge(name_of(node), name_of(target))
    return graph


def hardware_steps(graph: Undirected, one: str, other: str) -> int | None:
    """Edges on the shortest path between two nodes; None where no path joins them.

    Raises:
        UnknownEntityError: The graph lacks one of them.
    """
    for name in (one, other):
        if name not in graph:
            raise UnknownEntityError(f"the hardware tree has no {name!r}")
    try:
        return int(nx.shortest_path_length(graph, one, other))
    except nx.NetworkXNoPath:
        return None
