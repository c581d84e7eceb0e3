"""Named nodes and literals around a node of a graph: one step along a predicate, forwards or backwards.

Everything that is no named node or no literal, such as a blank node of an imported file, is passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode, Triple

from kg.triples.iris import name_of
from kg.triples.vocabulary import NAMESPACE, RDF_TYPE, Shared

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kg.triples.graph import GraphStore, Term


def subjects(store: GraphStore, predicate: NamedNode, value: Term | None = None) -> Iterator[NamedNode]:
    """Yield the nodes that have a predicate, with a value if one is given; one for each triple."""
    for triple in store.triples(None, predicate, value):
        if isinstance(triple.subject, NamedNode):
            yield triple.subject


def objects(store: GraphStore, subject: NamedNode | None, predicate: NamedNode) -> Iterator[NamedNode]:
    """Yield the nodes that a node (None: any node) points at under a predicate."""
    for triple in store.triples(subject, predicate):
        if isinstance(triple.object, NamedNode):
            yield triple.object


def literals(store: GraphStore, subject: NamedNode | None, predicate: NamedNode) -> Iterator[Literal]:
    """Yield the literals of a node (None: of any node) under a predicate."""
    for triple in store.triples(subject, predicate):
        if isinstance(triple.object, Literal):
            yield triple.object


def contains(store: GraphStore, triple: Triple) -> bool:
    """Return whether a graph has a triple."""
    if isinstance(triple.subject, Triple):  # a statement about a statement: no graph here has one
        return False
    return any(store.triples(triple.subject, triple.predicate, triple.object))


def edges(store: GraphStore, predicate: NamedNode) -> Iterator[tuple[NamedNode, NamedNode]]:
    """Yield both ends of every edge between two nodes under a predicate."""
    for triple in store.triples(None, predicate):
        if isinstance(triple.subject, NamedNode) and isinstance(triple.object, NamedNode):
            yield triple.subject, triple.object


def facts_of(
    store: GraphStore, term: NamedNode, predicates: Sequence[NamedNode]
) -> Iterator[tuple[str, ...]]:
    """Yield the text or name of each node of a class under each predicate; empty where there is none."""

    def fact(node: NamedNode, predicate: NamedNode) -> str:
        found = next((triple.object for triple in store.triples(node, predicate)), None)
        return name_of(found) if isinstance(found, NamedNode) else getattr(found, "value", "")

    for node in subjects(store, RDF_TYPE, term):
        yield tuple(fact(node, predicate) for predicate in predicates)


def links_by_name(store: GraphStore, predicate: NamedNode) -> dict[str, frozenset[str]]:
    """Return the names that each node points at under a predicate, by the node's name."""
    targets: dict[str, set[str]] = {}
    for node, target in edges(store, predicate):
        targets.setdefault(name_of(node), set()).add(name_of(target))
    return {name: frozenset(values) for name, values in targets.items()}


def texts_by_name(store: GraphStore, predicate: NamedNode, prefix: str = "") -> dict[str, frozenset[str]]:
    """Return the literals of each node under a predicate as texts, by the node's name.

    Args:
        store: The graph.
        predicate: The predicate.
        prefix: What the IRI of a node must begin with.
    """
    texts: dict[str, set[str]] = {}
    for triple in store.triples(None, predicate):
        node, text = triple.subject, triple.object
        if isinstance(node, NamedNode) and isinstance(text, Literal) and node.value.startswith(prefix):
            texts.setdefault(name_of(node), set()).add(text.value)
    return {name: frozenset(values) for name, values in texts.items()}


def labels_by_english(store: GraphStore, language: str) -> dict[str, str]:
    """Return the preferred names of all nodes in a language, by their English ones and by kind and id."""
    labels: dict[str, dict[str, str]] = {}
    for triple in store.triples(None, Shared.PREF_LABEL):
        if isinstance(triple.object, Literal) and isinstance(triple.subject, NamedNode):
            labels.setdefault(triple.subject.value, {})[triple.object.language or "en"] = triple.object.value
    named = {iri: held for iri, held in labels.items() if {"en", language} <= held.keys()}
    return {
        name: held[language]
        for iri, held in named.items()
        for name in (held["en"], iri.removeprefix(NAMESPACE))
    }
