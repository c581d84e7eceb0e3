"""Triples in rdflib: a second engine for small graphs, and the door to rdflib's tools.

Terms are converted at the edge, lexical forms untouched. rdflib is imported here at the top, so this
module is imported late.
"""

from collections.abc import Iterable, Iterator
from typing import IO

import pyoxigraph as ox
import rdflib
from rdflib.term import BNode, Node, URIRef

from kg.triples.graph import Subject, Term, Triple, bind, replacement
from kg.triples.oxigraph_store import quads_of

_STRING = "http://www.w3.org/2001/XMLSchema#string"


class RdflibStore:
    """A ``GraphStore`` over one ``rdflib.Graph`` in memory.

    Attributes:
        graph: The graph itself, for rdflib's own tools.
    """

    def __init__(self, triples: Iterable[Triple] = ()) -> None:
        self.graph = rdflib.Graph()
        self.extend(triples)

    def extend(self, triples: Iterable[Triple]) -> None:
        """Add all of ``triples``, or none if any step fails."""
        for converted in [_to_rdflib(triple) for triple in triples]:
            self.graph.add(converted)

    def remove(self, triples: Iterable[Triple]) -> None:
        """Take all of ``triples`` away at once."""
        self.replace(triples, ())

    def replace(self, removed: Iterable[Triple], added: Iterable[Triple]) -> None:
        """Take ``removed`` away and put ``added`` in, as one step."""
        removed, added = list(removed), list(added)
        replacement(removed, added)  # refuses what has no name
        for old in removed:
            self.graph.remove(_to_rdflib(old))
        self.extend(added)

    def update(self, sparql: str, **bindings: Term) -> None:
        """Run a SPARQL update, all of its operations or none."""
        before = set(self.graph)
        try:
            self.graph.update(bind(sparql, bindings))
        except BaseException:
            self.graph = rdflib.Graph()
            for triple in before:
                self.graph.add(triple)
            raise

    def select(self, sparql: str, **bindings: Term) -> Iterator[tuple[Term | None, ...]]:
        """Yield the rows of a SELECT in the order of its projection."""
        result = self.graph.query(bind(sparql, bindings))
        if result.vars is None:
            raise TypeError("select() takes a SELECT query")
        rows = ([row.get(variable) for variable in result.vars] for row in result.bindings)
        return (tuple(None if term is None else _from_rdflib(term) for term in row) for row in rows)

    def triples(
        self,
        subject: Subject | None = None,
        predicate: ox.NamedNode | None = None,
        object: Term | None = None,  # noqa: A002 - the word RDF has for it
    ) -> Iterator[Triple]:
        """Yield the triples that agree with the given terms."""
        wanted = [None if term is None else _term_to_rdflib(term) for term in (subject, predicate, object)]
        for triple in self.graph.triples((wanted[0], wanted[1], wanted[2])):
            yield _triple_from_rdflib(triple)

    def __len__(self) -> int:
        return len(self.graph)

    def dump(self, stream: IO[bytes], format: ox.RdfFormat) -> None:  # noqa: A002 - as in pyoxigraph
        """Write all triples to ``stream``."""
        ox.serialize(self.triples(), stream, format)

    def load(self, stream: IO[bytes], format: ox.RdfFormat) -> None:  # noqa: A002 - as in pyoxigraph
        """Add the triples of a document, all or none."""
        self.extend(quad.triple for quad in quads_of(stream, format))

    def close(self) -> None:
        """Drop the graph."""
        self.graph = rdflib.Graph()


def _to_rdflib(triple: Triple) -> tuple[Node, Node, Node]:
    subject, predicate, target = triple
    return _term_to_rdflib(subject), _term_to_rdflib(predicate), _term_to_rdflib(target)


def _term_to_rdflib(term: Term) -> Node:
    match term:
        case ox.NamedNode():
            return URIRef(term.value)
        case ox.BlankNode():
            return BNode(term.value)
        case ox.Literal():
            if term.language:
                return rdflib.Literal(term.value, lang=term.language)
            datatype = None if term.datatype.value == _STRING else URIRef(term.datatype.value)
            return rdflib.Literal(term.value, datatype=datatype, normalize=False)
    raise ValueError(f"rdflib has no triple terms: {term}")


def _triple_from_rdflib(triple: tuple[Node, Node, Node]) -> Triple:
    subject, predicate, target = (_from_rdflib(term) for term in triple)
    if isinstance(predicate, ox.NamedNode) and isinstance(subject, ox.NamedNode | ox.BlankNode):
        return Triple(subject, predicate, target)
    raise ValueError(f"not RDF: {triple}")


def _from_rdflib(term: Node) -> Term:
    match term:
        case URIRef():
            return ox.NamedNode(str(term))
        case BNode():
            return ox.BlankNode(str(term))
        case rdflib.Literal():
            if term.language:
                return ox.Literal(str(term), language=term.language)
            return ox.Literal(str(term), datatype=ox.NamedNode(str(term.datatype or _STRING)))
    raise ValueError(f"not a term: {term!r}")
