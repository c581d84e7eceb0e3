"""The HTTP service: its addresses, and the door that each request passes."""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, TypeVar

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from kg.errors import InputError, TuningError, UnknownEntityError, WorkspaceError
from kg.hidden_text import harmless
from recommender.service import openapi, reply
from recommender.service.access import OPEN_PATHS, Access, read_body
from recommender.service.lane import DIAGNOSIS, WRITE, Lane, snapshot_state
from recommender.service.problem_details import MEDIA_TYPE, RefusedError, details, status_of
from recommender.service.upload import diagnose_upload, discard, received
from recommender.service.writes import WriteQueue, add_writes, without_folder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from recommender.service.reply import Reply
    from recommender.workspace.workspace import Workspace

    P = ParamSpec("P")
    T = TypeVar("T")


Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


LINGER_SECONDS = 30.0
"""The longest wait, and 5 s of silence: the defaults of nginx (lingering_time, lingering_timeout)."""
SILENCE_SECONDS = 5.0
MOST_IN_PROGRESS, MOST_IN_PROGRESS_OF_ADDRESS = 256, 192
"""Requests that are there and wait for an answer; choices."""
_LEAST_ERROR = 400


class BusyError(WorkspaceError):
    """More wait than can be answered soon."""


class LingeringClose:
    """An ASGI application around another: refusals end when the client has sent its body.

    Args:
        app: The application.
    """

    def __init__(self, app: Callable[[Message, Receive, Send], Awaitable[None]]) -> None:
        self._app = app
        self._in_progress: Counter[str] = Counter()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, where not too many are answered; those of health always are."""
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
        elif (waiting := self._waiting(_address(scope))) is not None:
            busy = BusyError(f"{waiting} requests wait already", hint="ask again in a second")
            await error_response(busy, {"Connection": "close"})(scope, receive, send)
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> None:
        has_ended = is_refusal = False

        async def received() -> Message:
            nonlocal has_ended
            message = await receive()
            if _is_end(message) and not has_ended:
                has_ended = True
                self._in_progress[_address(scope)] += 1
            return message

        async def sent(message: Message) -> None:
            nonlocal is_refusal
            if message["type"] == "http.response.start":
                is_refusal = message["status"] >= _LEAST_ERROR
            is_last = message["type"] == "http.response.body" and not message.get("more_body", False)
            if not is_last or not is_refusal or has_ended:
                await send(message)
                return
            await send({**message, "more_body": True})
            await _drop_rest(receive)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        try:
            await self._app(scope, received, sent)
        except asyncio.CancelledError:  # the server ends
            await error_response(BusyError("the server ends"), {"Connection": "close"})(scope, receive, send)
        finally:
            self._in_progress.subtract([_address(scope)] * has_ended)
            self._in_progress += Counter()  # without those that have none left

    def _waiting(self, address: str) -> int | None:
        """The number waiting already, of all or of one address, where it is too large; else None."""
        own, whole = self._in_progress[address], self._in_progress.total()
        return whole if whole >= MOST_IN_PROGRESS else own if own >= MOST_IN_PROGRESS_OF_ADDRESS else None


def _address(scope: Message) -> str:
    return str((scope.get("client") or ("",))[0])


async def _drop_rest(receive: Receive) -> None:
    loop = asyncio.get_running_loop()
    ends = loop.time() + LINGER_SECONDS
    try:
        while (left := ends - loop.time()) > 0:
            if _is_end(await asyncio.wait_for(receive(), min(left, SILENCE_SECONDS))):
                return
    except TimeoutError:
        return


def _is_end(message: Message) -> bool:
    return message["type"] == "http.disconnect" or not message.get("more_body", False)


_log = logging.getLogger(__name__)
_ID = r"^[0-9a-f]{4,64}$"
_POLICY = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
"""Headers of pages: a browser loads nothing but their own content."""


@dataclass(frozen=True, kw_only=True)
class TuningService:
    """State that the addresses of one server share.

    Attributes:
        path: The workspace.
        access: Who may ask.
        answers: Answers questions.
        diagnoses: Reads profiles, which takes seconds: it keeps no question waiting.
        writes: Takes in cases and outcomes; None where the server only reads.
    """

    path: Path
    access: Access
    answers: Lane
    diagnoses: Lane
    writes: WriteQueue | None = None

    @classmethod
    def of(
        cls,
        path: Path,
        cache: Path,
        access: Access,
        *,
        writes: bool = False,
    ) -> TuningService:
        """The service of a workspace.

        Raises:
            InputError: It is to take in what anybody sends: writes need a token.
        """
        if writes and access.token is None:
            raise InputError("writes need a token", hint="--token-file FILE, or leave --write out")
        return cls(
            path=path,
            access=access,
            answers=Lane(path, cache),
            diagnoses=Lane(path, cache, DIAGNOSIS, workers=1),
            writes=WriteQueue(path, Lane(path, cache, WRITE, workers=1)) if writes else None,
        )

    async def ask(
        self,
        request: Request,
        work: Callable[Concatenate[Workspace, P], Reply],
        *args: P.args,
        **options: P.kwargs,
    ) -> Response:
        """Answer with a piece of work on the workspace."""
        return json_response(
            await while_there(request, self.answers.run_for(_address(request.scope), work, *args, **options))
        )


async def while_there(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Do a piece of work, and cancel it when the client leaves.

    Raises:
        RefusedError: It left.
    """

    async def leaves() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(leaves())
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise RefusedError(408, "the client left")
        return await working
    finally:
        for task in (working, leaving):
            task.cancel()


def json_response(answer: Reply) -> Response:
    """The answer as HTTP sends it."""
    content = harmless(json.dumps(answer.to_json(), ensure_ascii=False, allow_nan=False))
    headers = {"Tunegraph-Exit-Code": str(answer.code)}
    return Response(content, media_type="application/json", headers=headers)


def problem_response(content: Mapping[str, object], headers: Mapping[str, str] | None = None) -> Response:
    """Problem details as HTTP sends them."""
    text = harmless(json.dumps(content, ensure_ascii=False))
    return Response(text, int(str(content["status"])), headers, MEDIA_TYPE)


def error_response(error: Exception, headers: Mapping[str, str] | None = None) -> Response:
    """The problem details of what a request ran into; a bug is logged and tells nothing."""
    if isinstance(error, RefusedError):
        return problem_response(error.to_json(), error.headers)
    if isinstance(error, TuningError):
        content = details(status_of(error), str(error), code=error.exit_code, hint=error.hint)
        waits = {"Retry-After": "1"} if isinstance(error, BusyError) else {}
        return problem_response(content, {**waits, **(headers or {})})
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return problem_response(details(400, f"{where}: {first['msg']}", code=2))
    if isinstance(error, HTTPException):
        content = details(error.status_code, str(error.detail), code=2, hint="addresses: /openapi.json")
        return problem_response(content, error.headers)
    _log.error("a request failed", exc_info=error)
    return problem_response(details(500, "a fault of the server; its log says more", code=1))


def make_app(service: TuningService, version: str) -> FastAPI:
    """The application: what ``tunegraph serve`` runs."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.answers.start()
        yield
        await service.answers.close()
        await service.diagnoses.close()
        if service.writes is not None:
            await service.writes.lane.close()

    app = FastAPI(
        title="tunegraph",
        version=version,
        summary="Recommend tuning configurations from a knowledge graph of measured cases.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )

    @app.middleware("http")
    async def door(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
        try:
            service.access.check(request)
            response = await call(request)
        except Exception as error:  # noqa: BLE001  the last door: nothing may fall through it
            response = error_response(error)
        if response.status_code >= 400 and _has_body(request):
            response.headers["Connection"] = "close"  # its body may not have been read to the end
        return response

    app.add_middleware(LingeringClose)
    for kind in (TuningError, RefusedError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, lambda _, error: error_response(error))
    _add_questions(app, service)
    _add_lookups(app, service)
    _add_diagnosis(app, service)
    _add_upkeep(app, service)
    add_writes(app, service.writes, json_response)
    return app


def _add_questions(app: FastAPI, service: TuningService) -> None:
    number: dict[str, Any] = {"type": "number", "minimum": 0, "description": "Of the grid, gCO2 per kWh."}
    around = {"type": "string", "description": "What the devices sit in: its links."}

    @app.post(
        "/v1/recommend",
        summary="Where to start and what to change, or an operator's configurations.",
        responses=openapi.answer("problem", "knowledge_version", "notes"),
        openapi_extra=openapi.question("serving", "training", "kernel", others=openapi.LAUNCH),
    )
    async def recommend(request: Request) -> Response:
        body = reply.parse_json(await read_body(request))
        return await service.ask(request, reply.recommend, body)

    @app.post(
        "/v1/check",
        summary="What the settings of a launch script cost.",
        responses=openapi.answer("findings", "clean"),
        openapi_extra=openapi.question("launch", required="launch", others=openapi.LAUNCH),
    )
    async def check(request: Request) -> Response:
        body = reply.parse_json(await read_body(request))
        return await service.ask(request, reply.check, body)

    @app.post(
        "/v1/predict",
        summary="Gain, memory, energy and carbon of tuning, before any of it is done.",
        responses=openapi.answer("predictions", "notes"),
        openapi_extra=openapi.question("serving", others={"server": around, "intensity": number}),
    )
    async def predict(request: Request) -> Response:
        body = reply.parse_json(await read_body(request))
        return await service.ask(request, reply.predict, body)

    @app.post(
        "/v1/similar",
        summary="The known problems that are nearest.",
        responses=openapi.answer("neighbours", "notes"),
        openapi_extra=openapi.question("kernel"),
    )
    async def similar(request: Request) -> Response:
        body = reply.parse_json(await read_body(request))
        return await service.ask(request, reply.similar, body)


def _add_lookups(app: FastAPI, service: TuningService) -> None:
    missing: dict[int | str, dict[str, Any]] = {
        404: {**openapi.PROBLEM, "description": "No such recommendation is remembered."}
    }

    async def looked_up(response: Awaitable[Response]) -> Response:
        try:
            return await response
        except UnknownEntityError as error:
            return problem_response(details(404, str(error), code=error.exit_code, hint=error.hint))

    @app.get(
        "/v1/explain/{recommendation_id}",
        summary="Why a recommendation was made.",
        responses={**openapi.answer(), **missing},
    )
    async def explain(request: Request, recommendation_id: Annotated[str, _id_in_path()]) -> Response:
        return await looked_up(service.ask(request, reply.explain, recommendation_id))

    @app.get(
        "/v1/report/{recommendation_id}.html",
        summary="The report page of the answer with this recommendation.",
        responses={
            **openapi.RESPONSES,
            **missing,
            200: {"description": "A page that opens anywhere.", "content": {"text/html": {}}},
        },
    )
    async def report(
        request: Request,
        recommendation_id: Annotated[str, _id_in_path()],
        lang: Annotated[str, Query(pattern="^(en|zh)$")] = "en",
    ) -> Response:
        async def written() -> Response:
            text = await while_there(
                request,
                service.answers.run_for(
                    _address(request.scope), reply.report_page, recommendation_id, language=lang
                ),
            )
            return Response(text, media_type="text/html", headers=_POLICY)

        return await looked_up(written())

    @app.get(
        "/v1/kb/stats",
        summary="What the workspace holds.",
        responses=openapi.answer("knowledge", "cases", "triples", "knowledge_version"),
    )
    async def stats(request: Request) -> Response:
        return await service.ask(request, reply.stats)


def _id_in_path() -> Any:
    from fastapi import Path as InPath

    return InPath(pattern=_ID, description="Id of a recommendation, or its beginning.")


def _add_diagnosis(app: FastAPI, service: TuningService) -> None:
    @app.post(
        "/v1/diagnose",
        summary="The causes of lost time in a profile, or the known faults in a log.",
        responses=openapi.answer(),
        openapi_extra=openapi.upload("A file of a profiler, a log, or a ZIP archive of a folder"),
    )
    async def diagnose(
        request: Request,
        name: Annotated[
            str, Query(description="Name of the file: it tells its kind.", examples=["trace.zip"])
        ],
        hardware: str = "",
        model: str = "",
        least: Annotated[float, Query(ge=0.001, le=0.9)] = 0.05,
    ) -> Response:
        folder = Path(tempfile.mkdtemp(prefix="tunegraph-upload-"))
        try:
            path = await received(request, folder, name)
            work = service.diagnoses.run_for(
                _address(request.scope), diagnose_upload, path, hardware=hardware, model=model, least=least
            )
            answer = await while_there(request, work)
            return json_response(without_folder(answer, folder))
        except TuningError as error:
            said = str(error).replace(f"{folder}/", "")
            return problem_response(details(status_of(error), said, code=error.exit_code, hint=error.hint))
        finally:
            discard(folder)


def _add_upkeep(app: FastAPI, service: TuningService) -> None:
    @app.get("/healthz", summary="Whether the server runs.")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get(
        "/readyz",
        summary="Whether it can answer, and how old what it knows is.",
        responses={503: openapi.PROBLEM},
    )
    async def ready() -> Response:
        state = await asyncio.to_thread(snapshot_state, service.path)
        return Response(json.dumps({"status": "ready", **state}), media_type="application/json")


def _has_body(request: Request) -> bool:
    return "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"
