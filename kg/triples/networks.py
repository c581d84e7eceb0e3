"""Circles in the knowledge: causes that cause themselves, and trees whose branches lead back."""

from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter

from pyoxigraph import NamedNode

from kg.triples import nodes
from kg.triples.graph import GraphStore
from kg.triples.iris import bottleneck_iri, hardware_iri
from kg.triples.vocabulary import TG, Shared


def circle(edges: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the nodes of one circle of directed edges, in its order; empty if there is none."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for source, target in edges:
        sorter.add(target, source)
    try:
        sorter.prepare()
    except CycleError as found:
        return tuple(found.args[1][:-1])
    return ()


def circles(store: GraphStore) -> Iterator[tuple[NamedNode, tuple[NamedNode, ...]]]:
    """Yield a predicate and a circle of it, for causes, kinds of bottlenecks and the hardware tree.

    A circle begins with its alphabetically first member.
    """
    for predicate, prefix in (
        (TG.CAUSED_BY, bottleneck_iri("").value),
        (Shared.BROADER, bottleneck_iri("").value),
        (Shared.BROADER, hardware_iri("").value),
    ):
        edges = [
            (node.value, target.value)
            for node, target in nodes.edges(store, predicate)
            if node.value.startswith(prefix)
        ]
        if members := circle(edges):
            start = members.index(min(members))
            yield predicate, tuple(map(NamedNode, (*members[start:], *members[:start])))
