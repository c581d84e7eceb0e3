"""Triples in a store on another machine, by the SPARQL 1.1 protocol: Oxigraph, Apache Jena Fuseki, others.

Every change is one update request, so it is done as a whole or not at all. An answer is read to its end
before any of it counts: some servers break off with status 200.
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Iterable, Iterator
from http.client import HTTPException
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.request import Request

from pyoxigraph import (
    Literal,
    NamedNode,
    QueryResultsFormat,
    QuerySolutions,
    RdfFormat,
    Triple,
    parse_query_results,
    serialize,
)

from kg.errors import FetchError, InputError
from kg.triples.graph import Subject, Term, bind, replacement
from kg.triples.oxigraph_store import quads_of
from kg.web import is_safe, send

TIMEOUT_S = 600.0
"""Silence after which a request is given up: an update of a million triples takes Oxigraph half a minute."""
_IN_MEMORY_BYTES = 16 << 20
"""How much of a graph is held in memory before it goes to a temporary file."""
_ERROR_CHARACTERS = 200
_AGAIN = "nothing was done half; the same command again is safe"


class RemoteStore:
    """A ``GraphStore`` over a SPARQL 1.1 server.

    Nodes without a name are refused, for no second request could mean the same node.

    Args:
        address: Of the data set: ``/query`` and ``/update`` follow it, as Oxigraph and Fuseki have them.
        token: What the server, or the proxy before it, asks for; empty for nothing.

    Raises:
        InputError: The address is neither https nor of this machine.
    """

    def __init__(self, address: str, token: str = "") -> None:
        if not is_safe(address):
            raise InputError(f"{address}: not used, since it is not https")
        self.address = address.rstrip("/")
        self._token = token

    def extend(self, triples: Iterable[Triple]) -> None:
        """Add all of ``triples``, or none if any step fails."""
        self.replace((), triples)

    def remove(self, triples: Iterable[Triple]) -> None:
        """Take all of ``triples`` away at once."""
        self.replace(triples, ())

    def replace(self, removed: Iterable[Triple], added: Iterable[Triple]) -> None:
        """Take ``removed`` away and put ``added`` in, as one step."""
        if sparql := replacement(removed, added):
            self.update(sparql)

    def update(self, sparql: str, **bindings: Term) -> None:
        """Run a SPARQL update, all of its operations or none."""
        with self._answer("update", bind(sparql, bindings), "*/*") as reply:
            _read_all(reply, self.address)

    def select(self, sparql: str, **bindings: Term) -> Iterator[tuple[Term | None, ...]]:
        """Return the rows of a SELECT, all of which have arrived, in the order of its projection."""
        media_type = QueryResultsFormat.JSON.media_type
        with self._answer("query", bind(sparql, bindings), media_type) as reply:
            content = _read_all(reply, self.address)
        try:
            result = parse_query_results(content, QueryResultsFormat.JSON)
            if not isinstance(result, QuerySolutions):
                raise TypeError("select() takes a SELECT query")
            return iter([tuple(row) for row in result])
        except (SyntaxError, ValueError) as error:
            raise self._torn(error) from None

    def triples(
        self,
        subject: Subject | None = None,
        predicate: NamedNode | None = None,
        object: Term | None = None,  # noqa: A002 - the word RDF has for it
    ) -> Iterator[Triple]:
        """Yield the triples that agree with the given terms."""
        wanted = {"s": subject, "p": predicate, "o": object}
        given = {name: term for name, term in wanted.items() if term is not None}
        for s, p, o in self.select("SELECT ?s ?p ?o WHERE { ?s ?p ?o }", **given):
            yield Triple(s, p, o)  # type: ignore[arg-type]  # what a server has as a triple

    def __len__(self) -> int:
        count = next(self.select("SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }"))[0]
        if count is not None and isinstance(count, Literal):
            return int(count.value)
        raise self._torn("no count")

    def dump(self, stream: IO[bytes], format: RdfFormat) -> None:  # noqa: A002 - as in pyoxigraph
        """Write all triples to ``stream``, once all have arrived."""
        with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as copy:
            sparql = "CONSTRUCT WHERE { ?s ?p ?o }"
            with self._answer("query", sparql, RdfFormat.N_TRIPLES.media_type) as reply:
                for piece in _pieces(reply, self.address):
                    copy.write(piece)
            copy.seek(0)
            try:
                serialize((quad.triple for quad in quads_of(copy, RdfFormat.N_TRIPLES)), stream, format)
            except InputError as error:
                raise self._torn(error) from None

    def load(self, stream: IO[bytes], format: RdfFormat) -> None:  # noqa: A002 - as in pyoxigraph
        """Add the triples of a document, all or none."""
        self.extend(quad.triple for quad in quads_of(stream, format))

    def close(self) -> None:
        """Do nothing: each request has a connection of its own."""

    def _answer(self, operation: str, sparql: str, accept: str) -> Any:
        headers = {"Content-Type": f"application/sparql-{operation}", "Accept": accept}
        address = f"{self.address}/{operation}"
        request = Request(address, sparql.encode(), headers)  # noqa: S310  checked when the store is made
        try:
            return send(request, token=self._token, timeout_s=TIMEOUT_S)
        except HTTPError as error:
            raise FetchError(f"{address}: {_reason(error)}", hint=_HINTS.get(error.code, _AGAIN)) from None
        except _NETWORK as error:
            raise _lost(address, error) from None

    def _torn(self, fault: object) -> FetchError:
        said = str(fault)[:_ERROR_CHARACTERS]
        return FetchError(f"{self.address}: an answer that is not whole ({said})", hint=_AGAIN)


_NETWORK = (URLError, HTTPException, TimeoutError, ConnectionError, ssl.SSLError)
_LOGIN = "give the token of the server with --token-file or TUNEGRAPH_TOKEN"
_HINTS = {
    401: _LOGIN,
    403: _LOGIN,
    404: "the address of a data set: ADDRESS/query and ADDRESS/update are asked",
    405: "the address of a data set: ADDRESS/query and ADDRESS/update are asked",
    413: "raise the limit of the server, or write a file with kb export and load it there",
}


def _pieces(reply: Any, address: str) -> Iterator[bytes]:
    try:
        while piece := reply.read(1 << 18):
            yield piece
    except _NETWORK as error:
        raise _lost(address, error) from None


def _read_all(reply: Any, address: str) -> bytes:
    return b"".join(_pieces(reply, address))


def _lost(address: str, error: Exception) -> FetchError:
    reason = getattr(error, "reason", None) or str(error) or type(error).__name__
    return FetchError(f"{address}: does not answer ({reason})", hint=_AGAIN)


def _reason(error: HTTPError) -> str:
    lines = error.read(2000).decode("utf-8", "replace").splitlines()
    said = f": {lines[0][:_ERROR_CHARACTERS]}" if lines and "<" not in lines[0] else ""
    return f"refused (HTTP {error.code} {error.reason}){said}"
