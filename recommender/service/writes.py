"""Writes over HTTP: cases and outcomes, one after the other through the one writer, each once.

A key in the header ``Idempotency-Key`` is the SHA-256 of the body, so a key never comes with another content.
A request that came before is answered as it was; after a restart the workspace itself knows what it has.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import OrderedDict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

from fastapi import FastAPI, Query, Request, Response

from kg.atomic_files import sha256_of
from kg.errors import InputError
from kg.nouns.values import Settings
from recommender.experiment.recording import recorded
from recommender.files import WorkspaceFiles
from recommender.service import openapi, reply
from recommender.service.access import read_body
from recommender.service.problem_details import RefusedError
from recommender.service.upload import discard, received, unpacked
from recommender.store.ingestion import Options

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from recommender.service.lane import Lane
    from recommender.service.reply import Reply
    from recommender.workspace.workspace import Workspace

    Answering = Callable[[Reply], Response]
    P = ParamSpec("P")

KEPT = 1_000
"""Answers to writes that are kept for requests that come again; a choice."""
_BAD_ROWS = 2
_UNDECIDED = 5
_OUTCOME_KEYS = (
    "recommendation",
    "question",
    "strategy",
    "metric",
    "unit",
    "better",
    "control",
    "treatment",
    "samples",
    "in_order",
)


class WriteQueue:
    """The writes of a server: each is done once, and the next begins when it is acknowledged.

    Args:
        path: The workspace.
        lane: One worker; whoever else holds the workspace's lock makes it answer 503.
    """

    def __init__(self, path: Path, lane: Lane) -> None:
        self.lane = lane
        self._path = path
        self._replies: OrderedDict[str, Reply] = OrderedDict()
        self._begun: set[str] = set()

    async def once(
        self,
        request: Request,
        digest: str,
        work: Callable[Concatenate[Workspace, P], Reply],
        *args: P.args,
        **options: P.kwargs,
    ) -> Reply:
        """Do a write, or answer as before where the same request was done to this same workspace.

        Args:
            request: The request.
            digest: SHA-256 of its body.
            work: The write.
            *args: Its arguments behind the workspace.
            **options: Its named ones.

        Raises:
            RefusedError: The key of the request is not the digest, or the same request is being done.
        """
        key = request.headers.get("idempotency-key")
        if key is not None and key.strip('"').lower() != digest:
            raise RefusedError(422, "the Idempotency-Key is not the SHA-256 of this body", "sha256sum FILE")
        kept = WorkspaceFiles(self._path).manifest.stat()  # which a restore writes anew
        place = f"{kept.st_ino} {kept.st_mtime_ns} {request.url.path}?{request.url.query}"
        name = sha256(f"{place}\n{digest}".encode()).hexdigest()
        if name in self._replies:
            return self._replies[name]
        if name in self._begun:
            raise RefusedError(409, "the same request is being done", "ask again when it is")
        self._begun.add(name)
        try:
            done = await asyncio.shield(self.lane.run(work, *args, **options))  # whoever asked may leave
        finally:
            self._begun.discard(name)
        self._replies[name] = done
        if len(self._replies) > KEPT:
            self._replies.popitem(last=False)
        return done


def add_writes(app: FastAPI, queue: WriteQueue | None, respond: Answering) -> None:
    """Add the addresses that write.

    Args:
        app: The application.
        queue: Does the writes; None where the server only reads: then each is refused.
        respond: Makes the response of a reply.
    """
    refusals: dict[int | str, dict[str, Any]] = {403: openapi.PROBLEM, 409: openapi.PROBLEM}

    def writer() -> WriteQueue:
        if queue is None:
            raise RefusedError(403, "this server only reads", "tunegraph serve --write --token-file FILE")
        return queue

    async def kept(work: Callable[[Path], Awaitable[Reply]]) -> Response:
        folder = Path(tempfile.mkdtemp(prefix="tunegraph-upload-"))
        try:
            return respond(await work(folder))
        except InputError as error:
            raise InputError(str(error).replace(f"{folder}/", ""), hint=error.hint) from None
        finally:
            discard(folder)

    @app.post(
        "/v1/ingest",
        summary="Take in a file of cases, or a ZIP archive of files.",
        responses={**openapi.answer("files", "rows_good", "rows_bad", "rows_new"), **refusals},
        openapi_extra=openapi.upload("A file in any form that `tunegraph ingest` reads"),
    )
    async def ingest(
        request: Request,
        name: Annotated[str, Query(description="Name of the file: it tells its kind.", examples=["a.jsonl"])],
        hardware: Annotated[str, Query(description="Where runs were made whose files name none.")] = "",
        source: Annotated[str, Query(description="Where files are published that do not say it.")] = "",
    ) -> Response:
        into = writer()

        async def take(folder: Path) -> Reply:
            path = await received(request, folder, name)
            digest, options = sha256_of(path), Options(hardware=hardware, source=source)
            return await into.once(request, digest, ingested, path, options)

        return await kept(take)

    @app.post(
        "/v1/merge",
        summary="Join another workspace, as `tunegraph workspace merge` does.",
        responses={**openapi.answer("rows_new", "problems_new", "conflicts"), **refusals},
        openapi_extra=openapi.upload("A file that `tunegraph workspace backup` writes"),
    )
    async def merge(
        request: Request,
        label: Annotated[str, Query(description="What it is called in the provenance.")] = "backup",
    ) -> Response:
        into = writer()

        async def take(folder: Path) -> Reply:
            path = await received(request, folder, "own.backup")
            digest = sha256_of(path)
            return await into.once(request, digest, merged, path, label)

        return await kept(take)

    @app.post(
        "/v1/outcomes",
        summary="Judge measurements of an A/B test, and learn from them.",
        responses={**openapi.answer("name", "design", "samples", "told"), **refusals},
        openapi_extra=openapi.outcome(),
    )
    async def outcomes(request: Request) -> Response:
        into = writer()

        async def take(folder: Path) -> Reply:
            text = await read_body(request)
            body, digest = reply.parse_json(text), sha256(text).hexdigest()
            return await into.once(request, digest, concluded, body, folder)

        return await kept(take)


def ingested(workspace: Workspace, path: Path, options: Options) -> Reply:
    """Reply of ``tunegraph ingest --json``."""
    summary = workspace.ingest(unpacked(path), options=options)
    is_nothing = all(report.skipped for report in summary.files)
    answer = reply.Reply(content=summary.to_json(), code=_BAD_ROWS if summary.bad or is_nothing else 0)
    return without_folder(answer, path.parent)


def merged(workspace: Workspace, path: Path, label: str) -> Reply:
    """Reply of ``tunegraph workspace merge --json``."""
    return reply.Reply(content=workspace.knowledge.merge(path, label=label).to_json())


def concluded(workspace: Workspace, body: Mapping[str, Any], folder: Path) -> Reply:
    """Reply of ``tunegraph ab record --json``: the verdict, and what the graph learned.

    Raises:
        InputError: A key is unknown or wrong, or the samples cannot be compared.
        UnknownEntityError: No recommendation or strategy of this name is known.
    """
    if unknown := [name for name in body if name not in _OUTCOME_KEYS]:
        raise InputError(f"unknown key {unknown[0][:40]!r}", hint=f"keys: {', '.join(_OUTCOME_KEYS)}")
    texts = {
        name: body.get(name) or "" for name in ("recommendation", "strategy", "metric", "unit", "better")
    }
    if wrong := [name for name, value in texts.items() if not isinstance(value, str)]:
        raise InputError(f"{wrong[0]} is a text")
    if not texts["metric"] or not isinstance(body.get("samples"), dict | list):
        raise InputError(
            "metric and samples are needed", hint='"samples": {"control": [..], "treatment": [..]}'
        )
    control, treatment = (_settings(body, name) for name in ("control", "treatment"))
    tests, question = workspace.experiments, body.get("question")
    subject = None
    if texts["recommendation"]:
        subject = tests.of_recommendation(texts["recommendation"])
        treatment = treatment or subject.changed(control)
    elif isinstance(question, dict):
        if not (texts["strategy"] or treatment):
            raise InputError("the graph needs to know what was tried", hint="strategy or treatment")
        subject = tests.of_problem(question, texts["strategy"])
    else:
        raise InputError("the test is about nothing", hint="recommendation: its id, or question")
    path = folder / "samples.json"
    path.write_text(json.dumps(body["samples"]), encoding="utf-8")
    metric = f"{texts['metric']}:{texts['unit']}" if texts["unit"] else texts["metric"]
    found = recorded(
        [path],
        metrics=[metric],
        better=texts["better"],
        settings=(control, treatment),
        in_order=body.get("in_order") is True,
    )
    logged = tests.record(found, subject)
    state, lesson = tests.state(logged), tests.tell(logged)
    told = None if lesson is None else {"rows": lesson.rows, "strategies": list(lesson.strategies)}
    content = {"name": logged.name, "design": logged.design.to_json(), "samples": len(logged.samples)}
    return reply.Reply(
        content={**content, **state.to_json(), "told": told}, code=0 if state.is_decided else _UNDECIDED
    )


def without_folder(answer: Reply, folder: Path) -> Reply:
    """A reply that does not name the folder of an upload."""
    content = json.loads(json.dumps(answer.content).replace(f"{folder}/", ""))
    return reply.Reply(content=content, code=answer.code)


def _settings(body: Mapping[str, Any], name: str) -> Settings:
    given = body.get(name) or {}
    try:
        return Settings(given)
    except (TypeError, ValueError, AttributeError) as fault:
        raise InputError(
            f"{name}: {fault}", hint="settings by name, each a text, a number or a truth"
        ) from None
