"""Validation of a graph with the SHACL shapes that ship with the program.

pyshacl reads some thousand problems a second, so what is checked is a batch or the knowledge, never all
problems. It is imported when a check is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

import data
from kg.triples import nodes
from kg.triples.iris import name_of
from kg.triples.serialisation import description
from kg.triples.vocabulary import NAMESPACE, RDF_TYPE, TG

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import rdflib
    from rdflib.term import Node

    from kg.triples.graph import GraphStore, Term

KNOWLEDGE = (
    TG.HARDWARE_PROFILE,
    TG.MODEL_FAMILY,
    TG.MODEL,
    TG.BOTTLENECK,
    TG.CAUSE,
    TG.STRATEGY,
    TG.PARAMETER,
    TG.FAULT,
    TG.FRAMEWORK,
    TG.GRID_REGION,
    TG.GREEN_SCHEDULE,
    TG.RECIPE,
    TG.SOURCE,
)
"""Classes of what is known, as against what was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One thing that a node does not say as it should.

    Attributes:
        focus: IRI of the node.
        path: IRI of the predicate; empty where the fault is not in one.
        message: What should be.
        value: What is there instead, as text; empty where nothing is.
    """

    focus: str
    path: str
    message: str
    value: str

    def __str__(self) -> str:
        place = f"{self.focus} {self.path}".rstrip()
        return f"{place}: {self.message}" + (f" (not {self.value})" if self.value else "")


def validate(triples: Iterable[Triple], *, described_in: GraphStore | None = None) -> list[Violation]:
    """List the violations in a set of triples, in the order of their nodes.

    Args:
        triples: What to check; :func:`knowledge_part` takes it from a store.
        described_in: Where nodes that the triples point at may be described instead.
    """
    import pyshacl

    checked = list(triples)
    about = {triple.subject.value for triple in checked if isinstance(triple.subject, NamedNode)}
    if described_in is not None:
        checked.extend(_types_of_neighbours(checked, described_in))
    conforms, report, _ = pyshacl.validate(rdflib_graph(checked), shacl_graph=_shapes())
    if conforms:
        return []
    return sorted((fault for fault in _violations(report) if fault.focus in about), key=str)


def knowledge_violations(store: GraphStore) -> list[Violation]:
    """List where the knowledge of a graph breaks its shapes, and where causes or trees run in a circle."""
    from kg.triples.networks import circles

    return validate(knowledge_part(store), described_in=store) + [
        Violation(
            focus=members[0].value,
            path=predicate.value,
            message=f"a circle: {' > '.join(map(name_of, [*members, members[0]]))}",
            value="",
        )
        for predicate, members in circles(store)
    ]


def knowledge_part(store: GraphStore) -> Iterator[Triple]:
    """Yield the knowledge of a graph: hardware, models, bottlenecks, strategies, faults and sources."""
    for term in KNOWLEDGE:
        for node in nodes.subjects(store, RDF_TYPE, term):
            yield from description(store, node)


def rdflib_graph(triples: Iterable[Triple]) -> rdflib.Graph:
    """Triples as a graph of rdflib, for its tools; lexical forms are untouched."""
    import rdflib

    def term(one: Term) -> Node:
        match one:
            case NamedNode():
                return rdflib.URIRef(one.value)
            case BlankNode():
                return rdflib.BNode(one.value)
            case Literal(language=str() as language):
                return rdflib.Literal(one.value, lang=language)
            case Literal():
                plain = one.datatype.value == f"{rdflib.XSD}string"
                datatype = None if plain else rdflib.URIRef(one.datatype.value)
                return rdflib.Literal(one.value, datatype=datatype, normalize=False)
        raise ValueError(f"rdflib has no triple terms: {one}")

    graph = rdflib.Graph()
    for subject, predicate, target in triples:
        graph.add((term(subject), term(predicate), term(target)))
    return graph


@cache
def _shapes() -> Any:
    import rdflib

    return rdflib.Graph().parse(data=data.text("ontology/shapes.ttl"), format="turtle")


def _types_of_neighbours(triples: list[Triple], store: GraphStore) -> Iterator[Triple]:
    targets = {triple.object for triple in triples if isinstance(triple.object, NamedNode)}
    for target in targets:
        if target.value.startswith(NAMESPACE):
            yield from store.triples(target, RDF_TYPE)


def _violations(report: Any) -> Iterator[Violation]:
    from rdflib import RDF, SH

    for result in report.subjects(RDF.type, SH.ValidationResult):
        texts = [str(report.value(result, term) or "") for term in (SH.focusNode, SH.resultPath, SH.value)]
        message = str(report.value(result, SH.resultMessage) or "")
        yield Violation(focus=texts[0], path=texts[1], value=texts[2], message=message)
