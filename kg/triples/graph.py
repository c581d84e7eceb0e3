"""Triples in Oxigraph: on disk for a workspace, in memory for tests and small things.

Terms and triples are pyoxigraph's, and everything is in the default graph. Values enter a query as
bindings, never by formatting a string.
"""

import fcntl
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import IO, Self, TypeAlias, cast

from pyoxigraph import (
    BlankNode,
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    QuerySolutions,
    RdfFormat,
    Store,
    Triple,
    parse,
)

from kg.errors import InputError, WorkspaceError

Term: TypeAlias = NamedNode | BlankNode | Literal | Triple
Subject: TypeAlias = NamedNode | BlankNode

__all__ = ["GraphStore", "Subject", "Term", "Triple", "bind", "quads_of", "replacement"]

_DEFAULT = DefaultGraph()
_TRIPLE = attrgetter("triple")
_INTEGER = NamedNode("http://www.w3.org/2001/XMLSchema#integer")

MEND = "make room on the disk if it is full; else tunegraph doctor --repair"


class GraphStore:
    """Triples that can be added, changed, asked and carried away, in one Oxigraph database.

    Numbers come back equal, but not always spelt as they were: Oxigraph keeps ``"01"`` as ``"1"``.
    Language tags come back in lower case.

    Args:
        path: Folder of the database, made if it does not exist; None for memory.
        read_only: Open an existing database that nobody writes to, such as a published snapshot. It is
            marked as in use until ``close``, by a shared lock on its folder.

    Attributes:
        nouns: Classes of nouns that were read of it whole, where nobody writes to it; else None.

    Raises:
        WorkspaceError: Here: the database is missing, damaged or open in another process. In every
            method: it is damaged, or its disk is full.

    Example:
        >>> from kg.triples.iris import bottleneck_iri, strategy_iri
        >>> from kg.triples.vocabulary import TG
        >>> store = GraphStore()
        >>> store.extend([Triple(strategy_iri("graph-mode"), TG.MITIGATES, bottleneck_iri("host-bound"))])
        >>> [triple.object for triple in store.triples(None, TG.MITIGATES)]
        [<NamedNode value=https://w3id.org/tunegraph/pattern/host-bound>]
    """

    def __init__(self, path: Path | None = None, *, read_only: bool = False) -> None:
        self._mark = -1
        self._path = path
        self.nouns: dict[type, tuple[object, ...]] | None = {} if read_only else None
        try:
            if path is None:
                self._store = Store()
            elif read_only:
                self._mark = _mark_in_use(path)
                self._store = Store.read_only(str(path))
            else:
                path.mkdir(parents=True, exist_ok=True)
                self._store = Store(str(path))
        except (OSError, RuntimeError) as error:
            self._unmark()
            hint = "another process has it open" if "lock" in str(error).lower() else MEND
            raise WorkspaceError(f"the graph in {path} cannot be opened: {error}", hint=hint) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def extend(self, triples: Iterable[Triple]) -> None:
        """Add all of ``triples``, or none if any step fails. Present ones are kept once."""
        quads = [Quad(*triple) for triple in triples]
        with self._explained():
            self._store.extend(quads)

    def replace(self, removed: Iterable[Triple], added: Iterable[Triple]) -> None:
        """Take ``removed`` away and put ``added`` in, as one step; absent ones do not matter.

        Raises:
            ValueError: A triple has a blank node, which names nothing outside its file.
        """
        sparql = replacement(removed, added)
        if sparql:
            with self._explained():
                self._store.update(sparql)

    def select(self, sparql: str, **bindings: Term) -> Iterator[tuple[Term | None, ...]]:
        """Yield the rows of a SELECT in the order of its projection; ``?name`` stands for its binding.

        Raises:
            ValueError: A binding that the query does not mention, or that is a blank node.
        """
        bound = bind(sparql, bindings)
        with self._explained():
            result = self._store.query(bound)
        if not isinstance(result, QuerySolutions):
            raise TypeError("select() takes a SELECT query")
        return self._rows(result)

    def triples(
        self,
        subject: Subject | None = None,
        predicate: NamedNode | None = None,
        object: Term | None = None,  # noqa: A002 - the word RDF has for it
    ) -> Iterator[Triple]:
        """Yield the triples that agree with the given terms; None agrees with all.

        On disk the engine (0.5.13) also gives larger integers for one that ends with the byte 255.
        """
        number = _integer(object)
        with self._explained():
            found = map(_TRIPLE, self._store.quads_for_pattern(subject, predicate, object, _DEFAULT))
            yield from found if number is None else (one for one in found if _integer(one.object) == number)

    def __len__(self) -> int:
        return len(self._store)

    def dump(self, stream: IO[bytes], format: RdfFormat) -> None:  # noqa: A002 - as in pyoxigraph
        """Write all triples to ``stream``."""
        self._store.dump(stream, format, from_graph=_DEFAULT)

    def load(self, stream: IO[bytes], format: RdfFormat) -> None:  # noqa: A002 - as in pyoxigraph
        """Add the triples of a document, all or none.

        Raises:
            InputError: The document is not what ``format`` says, or has a named graph.
        """
        with self._explained():
            self._store.bulk_extend(quads_of(stream, format))

    def replace_plain(self, removed: bytes, added: bytes) -> None:
        """Take N-Triples of our own away and put others in, as one step; nothing in them is checked."""
        with self._explained():
            if removed:
                gone, come = removed.decode(), added.decode()
                self._store.update(f"DELETE DATA {{\n{gone}}} ;\nINSERT DATA {{\n{come}}}")
            else:
                self._store.load(added, RdfFormat.N_TRIPLES, lenient=True)

    def load_plain(self, lines: bytes) -> None:
        """Add a document of N-Triples of our own, all or none; nothing in it is checked."""
        with self._explained():
            self._store.bulk_load(lines, RdfFormat.N_TRIPLES, lenient=True)

    def bulk_extend(self, triples: Iterable[Triple]) -> None:
        """Add all of ``triples`` or none, in the way that is fast for millions and slow for tens."""
        with self._explained():
            self._store.bulk_extend(Quad(*triple) for triple in triples)

    def backup(self, folder: Path) -> None:
        """Copy the database to ``folder``, which must not exist; on one file system by hard links."""
        with self._explained():
            self._store.backup(str(folder))

    def flush(self) -> None:
        """Wait until everything written is on the disk, against loss of power."""
        with self._explained():
            self._store.flush()

    def close(self) -> None:
        """Close the database's files once nothing iterates over it any more."""
        self._store = Store()
        self._unmark()

    def _rows(self, solutions: QuerySolutions) -> Iterator[tuple[Term | None, ...]]:
        with self._explained():
            for row in solutions:
                yield tuple(row)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn the engine's errors about its files into errors about the workspace."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            raise WorkspaceError(
                f"the graph in {self._path} cannot be read or written: {error}", hint=MEND
            ) from error

    def _unmark(self) -> None:
        if self._mark >= 0:
            os.close(self._mark)
            self._mark = -1


def _integer(term: object) -> int | None:
    """The value of a literal that is an integer; None for any other term."""
    if not isinstance(term, Literal) or term.datatype != _INTEGER:
        return None
    try:
        return int(term.value)
    except ValueError:  # it only says that it is one
        return None


def _mark_in_use(folder: Path) -> int:
    descriptor = os.open(folder, os.O_RDONLY)
    with suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return descriptor


def quads_of(stream: IO[bytes], format: RdfFormat) -> Iterator[Quad]:  # noqa: A002 - as in pyoxigraph
    """Yield the statements of a document as it is read.

    Raises:
        InputError: The document is not what ``format`` says, or has a named graph.
    """
    try:
        for quad in parse(stream, format):
            if quad.graph_name != _DEFAULT:
                raise InputError(f"statements in the named graph {quad.graph_name} have no place here")
            yield cast("Quad", quad)
    except SyntaxError as error:
        place = f"line {error.lineno}: " if error.lineno else ""
        raise InputError(f"{place}not {format.name}: {error.msg}") from error


TOKEN = re.compile(
    r'''(?P<quoted>(?<!\\)(?:"""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'(?:[^'\\]|\\.|'(?!\'\'))*\'\'\''''
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))"""
    r"""|(?P<iri><[^<>"{}|^`\\\x00-\x20]*>)|(?P<comment>\#[^\n]*)"""
    r"""|[?$](?P<name>\w+)|(?P<word>[@:_A-Za-z][\w:.-]*)|(?P<mark>[{}()])""",
    re.DOTALL,
)
"""The tokens of SPARQL that matter for binding and for telling what a text asks for."""


def bind(sparql: str, bindings: Mapping[str, Term]) -> str:
    """Put terms in the place of variables, token by token: nothing in a term is read as SPARQL.

    A variable that the outermost SELECT returns is still returned, with its binding as the value.
    That works inside sub-selects too, and for variables that are not returned (pyoxigraph substitutes only
    those that are).

    Raises:
        ValueError: A binding that the text does not mention, or that is a blank node.
    """
    if not bindings:
        return sparql
    terms = {name: _constant(name, term) for name, term in bindings.items()}
    missing = set(terms)
    braces = parentheses = 0
    in_projection = False

    def substitute(match: re.Match[str]) -> str:
        nonlocal braces, parentheses, in_projection
        text = match.group()
        match match.lastgroup:
            case "mark":
                braces += (text == "{") - (text == "}")
                parentheses += (text == "(") - (text == ")")
                in_projection = in_projection and text not in "{}"
            case "word":
                in_projection = text.upper() == "SELECT" or (in_projection and not _ends_projection(text))
            case "name" if (name := match["name"]) in terms:
                missing.discard(name)
                if not in_projection or parentheses:
                    return terms[name]
                return "" if braces else f"({terms[name]} AS ?{name})"
        return text

    bound = TOKEN.sub(substitute, sparql)
    if missing:
        raise ValueError(f"the query has no variable {', '.join(sorted(missing))}")
    return bound


def replacement(removed: Iterable[Triple], added: Iterable[Triple]) -> str:
    """Return the SPARQL update that takes ``removed`` away and puts ``added`` in.

    Raises:
        ValueError: A triple has a blank node.
    """
    parts = []
    for operation, triples in (("DELETE DATA", removed), ("INSERT DATA", added)):
        lines = [_statement(triple) for triple in triples]
        if lines:
            parts.append(f"{operation} {{\n{''.join(lines)}}}")
    return " ;\n".join(parts)


def _constant(name: str, term: Term) -> str:
    if isinstance(term, NamedNode | Literal):
        return str(term)
    raise ValueError(f"?{name} cannot be bound to {term}: only IRIs and literals can")


def _statement(triple: Triple) -> str:
    text = str(triple)
    if "_:" in text and not all(isinstance(term, NamedNode | Literal) for term in triple):
        raise ValueError(f"{text} cannot be named outside its file: it has a blank node")
    return f"{text} .\n"


def _ends_projection(word: str) -> bool:
    return word.upper() in {"WHERE", "FROM"}
