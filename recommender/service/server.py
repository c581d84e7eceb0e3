"""The server of ``tunegraph serve``: uvicorn, with limits and without a log of addresses."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import uvicorn

from kg.errors import WorkspaceError
from recommender.service.app import TuningService, make_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from recommender.service.access import Access
    from recommender.workspace.workspace import Workspace

MOST_CONNECTIONS = 512
"""At once; further ones are sent away with 503. A choice."""
IDLE_SECONDS = 15
"""Until a connection without a request is closed; a choice."""


def make_server(service: TuningService, version: str) -> uvicorn.Server:
    """A server that runs in this process or in a thread of it."""
    config = uvicorn.Config(
        make_app(service, version),
        access_log=False,
        log_level="warning",
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
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
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(MOST_CONNECTIONS)
    except OSError as fault:
        reason = fault.strerror or fault
        raise WorkspaceError(
            f"cannot listen on {host}:{port}: {reason}", hint="--port 0 takes a free one"
        ) from None
    return listener


def serve(
    open_workspace: Callable[[], Workspace],
    access: Access,
    listener: socket.socket,
    version: str,
    *,
    writes: bool = False,
) -> None:
    """Serve a workspace until the process is told to end.

    Args:
        open_workspace: Opens it; called in threads of the server.
        access: Who may ask.
        listener: Where.
        version: Of the program.
        writes: Take in cases and outcomes.

    Raises:
        InputError: Writes are wanted, and there is no token.
    """
    service = TuningService.of(open_workspace, access, writes=writes)
    make_server(service, version).run(sockets=[listener])
