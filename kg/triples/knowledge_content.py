"""The knowledge in a graph as a set of triples: taken out, written, read and compared.

It is what a saved version holds: hardware, models, bottlenecks, causes, strategies, and the trust of
sources. It holds no evidence.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import IO

from pyoxigraph import Literal, NamedNode, RdfFormat, Triple

from kg.nouns.codec import JsonNoun
from kg.nouns.entities import Trust
from kg.triples import nodes
from kg.triples.graph import GraphStore
from kg.triples.iris import name_of
from kg.triples.serialisation import description
from kg.triples.validation import KNOWLEDGE
from kg.triples.vocabulary import NAMESPACE, PREFIXES, RDF_TYPE, TG, Shared

_STATEMENT = f"{NAMESPACE}statement/"
_HELD = dict.fromkeys(term for term in KNOWLEDGE if term != TG.SOURCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(JsonNoun):
    """A node that two versions describe differently.

    Attributes:
        about: The node, such as ``strategy/overlap``.
        gone: Statements of the first version alone.
        come: Statements of the second version alone.
    """

    about: str
    gone: tuple[str, ...]
    come: tuple[str, ...]


def knowledge_content(graph: GraphStore) -> set[Triple]:
    """Return the triples of a graph that a version holds."""
    content = {
        triple
        for term in _HELD
        for node in nodes.subjects(graph, RDF_TYPE, term)
        for triple in description(graph, node)
    }
    sources = (node for node in nodes.subjects(graph, TG.TRUST) if "/source/" in node.value)
    return content.union(*(graph.triples(node, TG.TRUST) for node in sources))


def knowledge_among(triples: Iterable[Triple]) -> set[Triple]:
    """Return those of some triples that a version holds, as :func:`knowledge_content` does of a graph."""
    said: defaultdict[object, list[Triple]] = defaultdict(list)
    for triple in triples:
        said[triple.subject].append(triple)
    content: set[Triple] = set()
    for about in list(said.values()):
        if any(triple.predicate == RDF_TYPE and triple.object in _HELD for triple in about):
            content.update(about)
            for triple in about:
                if isinstance(triple.object, NamedNode) and triple.object.value.startswith(_STATEMENT):
                    content.update(said.get(triple.object, ()))
        elif "/source/" in str(about[0].subject):
            content.update(triple for triple in about if triple.predicate == TG.TRUST)
    return content


def lines(content: Iterable[Triple]) -> list[str]:
    """Return triples as lines of N-Triples, sorted."""
    return sorted(f"{triple} .\n" for triple in content)


def read_lines(stream: IO[bytes]) -> set[Triple]:
    """Read triples from N-Triples.

    Raises:
        InputError: The stream holds something else.
    """
    store = GraphStore()
    try:
        store.load(stream, RdfFormat.N_TRIPLES)
        return set(store.triples())
    finally:
        store.close()


def without_trust(content: Iterable[Triple]) -> list[Triple]:
    """Return the triples that do not state the trust of a source."""
    return [triple for triple in content if triple.predicate != TG.TRUST]


def trusts(triples: Iterable[Triple]) -> dict[str, Trust]:
    """Return the trust of every source that has one stated, by id."""
    return {
        name_of(triple.subject): Trust(triple.object.value)
        for triple in triples
        if triple.predicate == TG.TRUST
        and isinstance(triple.subject, NamedNode)
        and isinstance(triple.object, Literal)
    }


def differences(before: Set[Triple], after: Set[Triple]) -> list[Difference]:
    """Compare two versions node by node."""
    removed, added = before - after, after - before
    owners = {
        triple.object.value: triple.subject.value
        for triple in before | after
        if isinstance(triple.object, NamedNode)
        and isinstance(triple.subject, NamedNode)
        and triple.object.value.startswith(_STATEMENT)
    }
    by_node: dict[str, tuple[list[str], list[str]]] = {}
    for side, triples in enumerate((removed, added)):
        version = before if side == 0 else after
        for text, about in _statements(triples, owners, version):
            by_node.setdefault(about, ([], []))[side].append(text)
    return [
        Difference(about=about, gone=tuple(sorted(sides[0])), come=tuple(sorted(sides[1])))
        for about, sides in sorted(by_node.items())
        if sides[0] != sides[1]
    ]


def _statements(
    triples: Iterable[Triple], owners: dict[str, str], version: Set[Triple]
) -> Iterator[tuple[str, str]]:
    """Yield triples as texts with their node; a qualified statement is one text of its owner."""
    statements: dict[str, list[Triple]] = {}
    for triple in triples:
        if not isinstance(triple.subject, NamedNode) or _is_derived(triple):
            continue
        if triple.subject.value in owners:
            statements.setdefault(triple.subject.value, []).append(triple)
            continue
        if isinstance(triple.object, NamedNode) and triple.object.value in owners:
            statements.setdefault(triple.object.value, [])
            continue
        yield f"{_short(triple.predicate)} {_short(triple.object)}", _short(triple.subject)
    links = {
        triple.object.value: triple
        for triple in version
        if isinstance(triple.object, NamedNode) and triple.object.value in statements
    }
    for iri, parts in statements.items():
        link = links.get(iri)
        inner = ", ".join(sorted(f"{_short(part.predicate)} {_short(part.object)}" for part in parts))
        what = "" if link is None else _short(link.predicate)
        yield f"{what} ({inner})", _short(NamedNode(owners[iri]))


def _is_derived(triple: Triple) -> bool:
    return triple.predicate in {RDF_TYPE, TG.KEY, Shared.NOTATION}


def _short(term: object) -> str:
    if isinstance(term, Literal):
        return term.value
    value = getattr(term, "value", str(term))
    for prefix, namespace in PREFIXES.items():
        if value.startswith(namespace) and prefix != "tg":
            return f"{prefix}:{value.removeprefix(namespace)}"
    return str(value.removeprefix(PREFIXES["tg"]).removeprefix(NAMESPACE))
