"""The server of ``tunegraph serve``: uvicorn, with limits and without a log of addresses."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from kg.errors import WorkspaceError
from recommender.service.app import TuningService, make_app

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path

    from uvicorn.server import ServerState

    from recommender.service.access import Access

BACKLOG = 512
"""Connections that may wait to be taken; a choice."""
MOST_QUIET, MOST_QUIET_OF_ADDRESS = 192, 96
"""Connections without a whole request; beyond them the oldest is closed. Choices."""
IDLE_SECONDS = 15
"""Until a connection without a request is closed; a choice."""
HEADER_SECONDS = 10.0
"""For a request's line and headers to arrive; a choice."""
_UNFINISHED = (h11.IDLE, h11.SEND_BODY)
"""States of a client whose request is not all there."""


class BoundedProtocol(H11Protocol):
    """HTTP of one connection: who is silent is closed, and makes room for others before that.

    No open connection keeps others out: a connection counts against the limits until all of its request is
    there, body included, and whole requests are bounded in the application.
    """

    _waiting: ClassVar[WeakKeyDictionary[ServerState, dict[H11Protocol, str]]] = WeakKeyDictionary()
    """By server, the address of each connection without a whole request, the oldest first."""
    _header_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer of the connection."""
        super().connection_made(transport)
        self._quiet = self._waiting.setdefault(self.server_state, {})
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._quiet.pop(self, None)
        self._stop_timer()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Take what has arrived."""
        super().handle_events()
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        if self.conn.their_state not in _UNFINISHED:
            self._quiet.pop(self, None)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if self.conn.their_state in _UNFINISHED and not self.transport.is_closing():
            self._wait()

    def data_received(self, data: bytes) -> None:
        """Take bytes; the time of the headers of a further request begins with its first byte."""
        if self.conn.their_state is h11.IDLE and self._header_timer is None:
            self._header_timer = self.loop.call_later(HEADER_SECONDS, self.transport.close)
        super().data_received(data)

    def _wait(self) -> None:
        address = self.client[0] if self.client else ""
        self._quiet[self] = address
        for connection in (
            *[item for item, other in self._quiet.items() if other == address][:-MOST_QUIET_OF_ADDRESS],
            *[*self._quiet][:-MOST_QUIET],
        ):
            if self._quiet.pop(connection, None) is not None:
                connection.transport.close()
        if self.cycle is None:  # uvicorn's own timer runs between two requests
            self._header_timer = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None


def make_server(service: TuningService, version: str) -> uvicorn.Server:
    """A server that runs in this process or in a thread of it."""
    config = uvicorn.Config(
        make_app(service, version),
        http=BoundedProtocol,
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=5,
        ws="none",
        lifespan="on",
    )
    return uvicorn.Server(config)


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one.

    Raises:
        WorkspaceError: The address cannot be used.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # asyncio sends small packets at once (TCP_NODELAY) only of a socket that says that it is TCP's: else
        # each answer on a connection that is kept waits 40 ms for the client's acknowledgement
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as fault:
        reason = fault.strerror or fault
        raise WorkspaceError(
            f"cannot listen on {host}:{port}: {reason}", hint="--port 0 takes a free one"
        ) from None
    return listener


def serve(
    path: Path,
    cache: Path,
    access: Access,
    listener: socket.socket,
    version: str,
    *,
    writes: bool = False,
) -> None:
    """Serve a workspace until the process is told to end.

    Args:
        path: Its directory.
        cache: The user's cache directory.
        access: Who may ask.
        listener: Where.
        version: Of the program.
        writes: Take in cases and outcomes.

    Raises:
        InputError: Writes are wanted, and there is no token.
    """
    service = TuningService.of(path, cache, access, writes=writes)
    make_server(service, version).run(sockets=[listener])
