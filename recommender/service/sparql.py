"""The SPARQL 1.1 protocol: queries alone, each in a process with a deadline, and never half an answer.

An answer is gathered before its first byte is sent: a deadline is 504, and rows that were cut off are said
in the header ``Tunegraph-Cut``. A dataset other than the workspace's graph is refused by name.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from fastapi import Request, Response

from kg.triples.user_queries.results import TABLE_FORMATS, TRIPLE_FORMATS, formats_of, written
from kg.triples.user_queries.sparql import Limits, ask, late
from recommender.service import openapi
from recommender.service.access import read_body
from recommender.service.lane import BusyError, Lane
from recommender.service.problem_details import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fastapi import FastAPI


def preferred(accept: str, offered: Sequence[str]) -> str | None:
    """The offered media type with the highest quality in an Accept header (RFC 9110, 12.5.1).

    Args:
        accept: The header; empty if there is none, which accepts anything.
        offered: Media types, ours to prefer first.

    Returns:
        None where nothing offered is accepted.
    """
    ranges = [_range(part) for part in (accept or "*/*").split(",") if part.strip()]
    rated = [(_quality(kind, ranges), -place, kind) for place, kind in enumerate(offered)]
    quality, _, kind = max(rated)
    return kind if quality > 0 else None


def _range(text: str) -> tuple[str, float]:
    kind, *parameters = (part.strip().lower() for part in text.split(";"))
    quality = 1.0
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                quality = min(1.0, max(0.0, float(parameter[2:])))
            except ValueError:
                quality = 0.0
    return kind, quality


def _quality(kind: str, ranges: Sequence[tuple[str, float]]) -> float:
    """The quality that the most exact range gives a media type."""
    for pattern in (kind, f"{kind.partition('/')[0]}/*", "*/*"):
        for accepted, quality in ranges:
            if accepted == pattern:
                return quality
    return 0.0


AT_ONCE = 2
"""Queries that run at once, each a process of up to a gigabyte; a choice for small machines."""
LEAST_SECONDS = 0.5
"""That must be left of a deadline to begin: a process starts in about a quarter of it. A choice."""
LIMITS = Limits(seconds=10.0)
_FORM = "application/x-www-form-urlencoded"
_QUERY = "application/sparql-query"
_UPDATE = "application/sparql-update"
_DATASET = ("default-graph-uri", "named-graph-uri", "using-graph-uri", "using-named-graph-uri")
_OF_CLIENTS = ("output", "format")
"""Sent by clients such as rdflib beside ``Accept``, which decides."""
_OTHERS = frozenset({"query", "update", *_DATASET, *_OF_CLIENTS})
DESCRIPTION = """@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
[] a sd:Service ;
  sd:endpoint <> ;
  sd:supportedLanguage sd:SPARQL11Query ;
  sd:resultFormat <http://www.w3.org/ns/formats/SPARQL_Results_JSON>,
    <http://www.w3.org/ns/formats/SPARQL_Results_XML>, <http://www.w3.org/ns/formats/SPARQL_Results_CSV>,
    <http://www.w3.org/ns/formats/SPARQL_Results_TSV>, <http://www.w3.org/ns/formats/Turtle>,
    <http://www.w3.org/ns/formats/N-Triples> ;
  sd:defaultDataset [ a sd:Dataset ; sd:defaultGraph [ a sd:Graph ] ] .
"""
"""The service description (https://www.w3.org/TR/sparql11-service-description/), sent where no query is."""


@dataclass(frozen=True, slots=True)
class SparqlEndpoint:
    """The endpoint of one workspace.

    Attributes:
        lane: Where the workspace is open: its snapshot is not removed while it is read.
        places: Lets so many queries run at once.
        limits: What a query may use.
    """

    lane: Lane
    places: asyncio.Semaphore
    limits: Limits = LIMITS

    async def answer(self, request: Request) -> Response:
        """Answer a request of the protocol.

        Raises:
            RefusedError: It is no request of the protocol, or one for an update.
            InputError: The query has a fault, or does not end within its limits.
        """
        sparql = await _query_of(request)
        if sparql is None:
            return Response(DESCRIPTION, media_type="text/turtle")
        accept = ",".join(request.headers.getlist("accept"))
        if preferred(accept, [*TABLE_FORMATS, *TRIPLE_FORMATS]) is None:
            raise _not_acceptable([*TABLE_FORMATS, *TRIPLE_FORMATS])
        return await self._run(sparql, accept)

    async def _run(self, sparql: str, accept: str) -> Response:
        loop = asyncio.get_running_loop()
        ends = loop.time() + self.limits.seconds
        try:
            await asyncio.wait_for(self.places.acquire(), self.limits.seconds - LEAST_SECONDS)
        except TimeoutError:
            raise BusyError("other queries keep the processors busy", hint="ask again later") from None
        work = asyncio.create_task(self._in_place(sparql, accept, ends))
        work.add_done_callback(_end)
        try:
            return await asyncio.wait_for(asyncio.shield(work), max(LEAST_SECONDS, ends - loop.time()))
        except TimeoutError:  # an end of the process, or a long answer's writing, goes on without the client
            raise late(self.limits.seconds) from None

    async def _in_place(self, sparql: str, accept: str, ends: float) -> Response:
        """Answer by a time of the loop's clock, and then give the place to another query."""
        try:
            snapshot = await self.lane.run(lambda workspace: workspace.snapshot.folder)
            left = max(LEAST_SECONDS, ends - asyncio.get_running_loop().time())
            limits = replace(self.limits, seconds=round(left, 1))
            return await asyncio.to_thread(self._answered, snapshot, sparql, accept, limits)
        finally:
            self.places.release()

    @staticmethod
    def _answered(snapshot: Path, sparql: str, accept: str, limits: Limits) -> Response:
        result = ask(snapshot, sparql, limits=limits)
        offered = formats_of(result.form)
        kind = preferred(accept, offered)
        if kind is None:
            raise _not_acceptable(offered)
        headers = {"Vary": "Accept"}
        if result.cut:
            headers["Tunegraph-Cut"] = f"rows={len(result.rows)}"
        return Response(written(result, kind), headers=headers, media_type=kind)


def _end(work: asyncio.Task[Response]) -> None:
    """Take the fault of work that nobody may wait for any more, which asyncio would log."""
    if not work.cancelled():
        work.exception()


def _not_acceptable(offered: list[str] | tuple[str, ...]) -> RefusedError:
    return RefusedError(
        406, "none of the accepted media types can hold the answer", f"one of: {', '.join(offered)}"
    )


async def _query_of(request: Request) -> str | None:
    """The one query of a request; None where a GET asks for none."""
    fields = _fields(request.url.query.encode())
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    charset = request.headers.get("content-type", "").lower().partition("charset=")[2].strip(' "')
    if request.method == "POST":
        if kind not in {_FORM, _QUERY, _UPDATE}:
            raise RefusedError(415, f"a body of {kind or 'no type'} is no request", f"{_QUERY}, or {_FORM}")
        if charset not in {"", "utf-8"}:
            raise RefusedError(415, f"a query in {charset[:20]}", "send it in UTF-8")
        body = await read_body(request)
        if kind == _UPDATE:
            raise _no_update()
        if kind == _FORM:
            fields += _fields(body)
        else:
            if any(name == "query" for name, _ in fields):
                raise RefusedError(400, "a query stands in the address and in the body")
            fields.append(("query", _text(body)))
    _check(fields)
    queries = [text for name, text in fields if name == "query"]
    if len(queries) > 1:
        raise RefusedError(400, f"{len(queries)} queries: one is answered at a time")
    if not queries and request.method == "POST":
        raise RefusedError(400, "there is no query")
    return queries[0] if queries else None


def _check(fields: list[tuple[str, str]]) -> None:
    names = {name for name, _ in fields}
    if "update" in names:
        raise _no_update()
    for name in _DATASET:
        if name in names:
            raise RefusedError(400, f"{name}: the dataset is the graph of the workspace", "leave it out")
    if others := sorted(names - _OTHERS):
        raise RefusedError(400, f"unknown parameter {others[0][:40]!r}", "the protocol has query alone here")


def _no_update() -> RefusedError:
    return RefusedError(
        403, "updates change the graph; this endpoint only reads it", "tunegraph ingest, kb add"
    )


def _fields(text: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(text.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=50)
    except ValueError as fault:
        raise RefusedError(400, f"the parameters cannot be read: {fault}", "UTF-8, percent-encoded") from None


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise RefusedError(400, "the query is not UTF-8") from None


def add_sparql(app: FastAPI, endpoint: SparqlEndpoint) -> None:
    """Add the endpoint to an application."""
    content: dict[str, dict[str, str]] = {kind: {} for kind in (*TABLE_FORMATS, *TRIPLE_FORMATS)}
    responses = {
        **openapi.RESPONSES,
        200: {"description": "The answer, or without a query the service description.", "content": content},
        403: {**openapi.PROBLEM, "description": "An update."},
        406: {**openapi.PROBLEM, "description": "No accepted media type holds the answer."},
        504: {**openapi.PROBLEM, "description": "The deadline."},
    }
    text = {"schema": {"type": "string"}, "example": "SELECT ?s { ?s a tg:Strategy } LIMIT 3"}
    parameter = {"name": "query", "in": "query", **text}
    extra = {"requestBody": {"content": {_QUERY: text}}}

    @app.get(
        "/sparql", summary="A SPARQL query.", responses=responses, openapi_extra={"parameters": [parameter]}
    )
    @app.post("/sparql", summary="A SPARQL query.", responses=responses, openapi_extra=extra)
    async def sparql(request: Request) -> Response:
        return await endpoint.answer(request)
