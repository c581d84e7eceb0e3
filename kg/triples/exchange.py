"""The graph as files: out in any of five formats, and in again.

Both ways stream, so the size of the graph does not matter. Numbers come back equal; how they were spelt
may change (``01`` becomes ``1``).
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Final

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple, serialize

from kg.errors import InputError
from kg.triples.graph import GraphStore, Subject, Term, quads_of
from kg.triples.iris import language_literal
from kg.triples.vocabulary import (
    GRAPH,
    NAMESPACE,
    PREFIXES,
    TG,
    VERSION,
    VERSION_INFO,
    XSD_ANY_URI,
    XSD_STRING,
    Shared,
)

FORMATS: Final[Mapping[str, RdfFormat]] = {
    "nquads": RdfFormat.N_QUADS,
    "trig": RdfFormat.TRIG,
    "turtle": RdfFormat.TURTLE,
    "ntriples": RdfFormat.N_TRIPLES,
    "jsonld": RdfFormat.JSON_LD,
}
"""Name to format."""

SUFFIXES: Final[Mapping[str, str]] = {
    ".nq": "nquads",
    ".trig": "trig",
    ".ttl": "turtle",
    ".nt": "ntriples",
    ".jsonld": "jsonld",
}
"""File name ending to the name of its format."""

_IN_MEMORY_BYTES = 16 << 20
"""Bytes of an import that are held in memory before it goes to a temporary file."""


def format_named(name: str) -> RdfFormat:
    """Return the RDF format of a name such as ``"turtle"``, or of a file such as ``"graph.ttl"``.

    Raises:
        InputError: Neither is known.
    """
    for suffix, form in SUFFIXES.items():
        if name.lower().endswith(suffix):
            return FORMATS[form]
    if name.lower() in FORMATS:
        return FORMATS[name.lower()]
    raise InputError(f"no format {name!r}", hint=f"one of: {', '.join(FORMATS)}")


def export_triples(triples: Iterable[Triple], stream: IO[bytes], form: str = "turtle") -> None:
    """Write triples to a stream, in the format of a name or file name."""
    serialize(triples, stream, format_named(form), prefixes=PREFIXES)


def import_graph(store: GraphStore, stream: IO[bytes], form: str, *, batches: bool = True) -> int:
    """Add the triples of a document to a store, all or none.

    Args:
        store: The store that takes it in.
        stream: The document.
        form: Its format, or its file name.
        batches: Also take over the batches of the other workspace. Leave them out where the store has
            batches of its own: a number may mean something else here.

    Returns:
        How many triples were read.

    Raises:
        InputError: The document is not in that format, has a named graph or has a blank node.
    """
    count = 0

    def counted(triples: Iterator[Triple]) -> Iterator[Triple]:
        nonlocal count
        for triple in triples:
            count += 1
            yield triple

    with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as copy:
        serialize(counted(_accepted(stream, format_named(form), batches=batches)), copy, RdfFormat.N_TRIPLES)
        copy.seek(0)
        store.load(copy, RdfFormat.N_TRIPLES)
    return count


def _accepted(stream: IO[bytes], form: RdfFormat, *, batches: bool) -> Iterator[Triple]:
    for quad in quads_of(stream, form):
        triple = quad.triple
        if isinstance(triple.subject, BlankNode) or isinstance(triple.object, BlankNode):
            raise InputError(f"{triple} has a blank node", hint="every node needs an IRI")
        triple = typed_text(triple)
        if batches:
            yield triple
        elif triple.subject == GRAPH:
            _check_version(triple)
        elif not _is_of_batch(triple):
            yield triple


def typed_text(triple: Triple) -> Triple:
    """A triple with the datatype or language that its text has here, where people write a plain one."""
    term = triple.object
    if not isinstance(term, Literal) or term.datatype != XSD_STRING:
        return triple
    if triple.predicate == TG.URL:
        term = Literal(term.value, datatype=XSD_ANY_URI)
    elif triple.predicate in _OF_LANGUAGES:
        term = language_literal(term.value, _OF_LANGUAGES[triple.predicate])
    return Triple(triple.subject, triple.predicate, term)


_OF_LANGUAGES = {Shared.DEFINITION: "en", Shared.ALT_LABEL: None}
"""Predicates of texts in a language, and the tag of a text without Chinese characters."""


def _check_version(triple: Triple) -> None:
    term = triple.object
    stated = term.value[:_DIGITS] if isinstance(term, Literal) and triple.predicate == VERSION_INFO else ""
    if stated.isdecimal() and int(stated) > VERSION:
        raise InputError(
            f"written in version {stated} of the vocabulary; this program reads up to {VERSION}",
            hint="update tunegraph: pip install --upgrade tunegraph",
        )


_DIGITS = 9
"""More than any version has."""


def _is_of_batch(triple: Triple) -> bool:
    is_generated = triple.predicate == Shared.GENERATED_BY and _is_batch(triple.object)
    is_said_of_one = triple.predicate in _OF_BATCHES or _is_batch(triple.subject)
    return is_said_of_one or is_generated or triple.object == TG.BATCH


_OF_BATCHES = frozenset({TG.BATCH_OF, TG.BATCH_NUMBER, TG.COMPLETED, TG.COUNTS, TG.FILE, TG.ORIGIN, TG.SEAL})
"""Predicates of batches: whatever their subject, they are no one's to import."""


def _is_batch(node: Subject | Term) -> bool:
    return isinstance(node, NamedNode) and node.value.startswith(f"{NAMESPACE}batch/")
