"""Triples of a document checked against a graph as if both were one; nothing is written.

Every noun that the document touches is read from the union with the readers' own tables and written again.
What no noun says (half a description, a second value where one may stand) is a fault, so whatever passes can
be read by every command.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyoxigraph import NamedNode, Triple

from kg.errors import TuningError
from kg.triples import nodes
from kg.triples.graph import GraphStore, Subject, Term
from kg.triples.networks import circles
from kg.triples.serialisation import TABLES, description
from kg.triples.tables.descriptions import TripleDescriptions
from kg.triples.tables.fields import Node
from kg.triples.validation import KNOWLEDGE, validate
from kg.triples.vocabulary import NAMESPACE, RDF_TYPE, TERMS, TG, Shared

_LINKS = {Shared.DERIVED_FROM: TG.SOURCE, TG.IN_CONTEXT: TG.CONTEXT}
"""Edges that are written beside a noun, and the class of what they point at."""

_DERIVED = frozenset(
    {
        TG.KEY,
        Shared.NOTATION,
        Shared.UNIT,
        Shared.IN_SCHEME,
        Shared.CLOSE_MATCH,
        Shared.SEE_ALSO,
    }
)
"""Said of a noun and not read back; made anew for what is taken in."""

_STATEMENT = f"{NAMESPACE}statement/"


class UnionStore(GraphStore):
    """A graph with more triples than it has, for reading; the graph itself stays as it is.

    Args:
        base: The graph.
        added: The triples that are to be seen beside its own.
    """

    def __init__(self, base: GraphStore, added: Iterator[Triple]) -> None:
        super().__init__()
        self._base = base
        self.bulk_extend(added)

    def triples(
        self,
        subject: Subject | None = None,
        predicate: NamedNode | None = None,
        object: Term | None = None,  # noqa: A002 - the word RDF has for it
    ) -> Iterator[Triple]:
        """Yield the triples of both that agree with the given terms, each once."""
        yield from self._base.triples(subject, predicate, object)
        for triple in super().triples(subject, predicate, object):
            if not nodes.contains(self._base, triple):
                yield triple


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedImport:
    """A document as it would be taken in.

    Attributes:
        added: Triples that the graph has not yet.
        nouns: What was read of the nouns that it touches.
        faults: Reasons to refuse it, as place and text; then ``added`` must not be used.
    """

    added: tuple[Triple, ...]
    nouns: tuple[Any, ...]
    faults: tuple[tuple[str, str], ...]


def check_import(base: GraphStore, incoming: GraphStore) -> CheckedImport:
    """Check a document, without its batches, against the graph that it would join."""
    union = UnionStore(base, incoming.triples())
    touched = _touched(incoming, union)
    faults: list[tuple[str, str]] = []
    nouns: list[Any] = []
    said = GraphStore()
    for node in sorted(touched, key=lambda item: item.value):
        for table in _tables_of(union, node):
            triples = TripleDescriptions()
            try:
                noun = table.read(Node(union, node))
                if table.has_iri and table.iri(noun) != node:
                    faults.append((node.value, f"should be <{table.iri(noun).value}> by what it says"))
                table.write(noun, node, triples)
            except (TuningError, ValueError, TypeError, LookupError, ArithmeticError) as error:
                faults.append((node.value, str(error)))
                continue
            nouns.append(noun)
            said.extend(triples)
    added = dict.fromkeys(said.triples())
    for triple in incoming.triples():
        term = _LINKS.get(triple.predicate)
        is_link = term is not None and _is_a(union, triple.object, term)
        if triple in added or is_link or _is_foreign(triple):
            added[triple] = None
        elif triple.predicate not in _DERIVED and triple.object != Shared.CONCEPT:
            faults.append((_value(triple.subject), f"{triple.predicate} {triple.object} is said of no noun"))
    if not faults:
        faults += _shape_faults(union, touched)
    fresh = (triple for triple in added if not nodes.contains(base, triple))
    return CheckedImport(added=tuple(fresh), nouns=tuple(nouns), faults=tuple(faults))


def _touched(incoming: GraphStore, union: UnionStore) -> set[NamedNode]:
    """Return the nodes whose description the document changes; a statement changes its owner's."""
    touched: set[NamedNode] = set()
    waiting = [t.subject for t in incoming.triples() if isinstance(t.subject, NamedNode)]
    while waiting:
        node = waiting.pop()
        if node in touched:
            continue
        touched.add(node)
        if node.value.startswith(_STATEMENT):
            owners = (triple.subject for triple in union.triples(None, None, node))
            waiting += [owner for owner in owners if isinstance(owner, NamedNode)]
    return touched


def _tables_of(store: GraphStore, node: NamedNode) -> list[Any]:
    types = {triple.object for triple in store.triples(node, RDF_TYPE)}
    return [table for table in TABLES.values() if table.term in types]


def _is_foreign(triple: Triple) -> bool:
    """True if no reader looks at a triple: neither its subject nor its statement is in our namespace."""
    return not (
        _value(triple.subject).startswith(NAMESPACE)
        or triple.predicate.value.startswith(TERMS)
        or (triple.predicate == RDF_TYPE and _value(triple.object).startswith(TERMS))
    )


def _is_a(store: GraphStore, node: Term, term: NamedNode) -> bool:
    return isinstance(node, NamedNode) and any(store.triples(node, RDF_TYPE, term))


def _shape_faults(union: UnionStore, touched: set[NamedNode]) -> Iterator[tuple[str, str]]:
    known = {node for node in touched if any(_is_a(union, node, term) for term in KNOWLEDGE)}
    for fault in validate([t for node in known for t in description(union, node)], described_in=union):
        yield fault.focus, f"{fault.path}: {fault.message}"
    for _, members in circles(union):
        if touched.intersection(members):
            yield members[0].value, f"a circle: {' > '.join(item.value for item in (*members, members[0]))}"


def _value(term: Term) -> str:
    return str(getattr(term, "value", term))
