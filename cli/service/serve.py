"""``tunegraph serve``: the workspace over HTTP."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.context import open_workspace, settings
from cli.text.language import localised
from kg.errors import InputError, MissingDependencyError


def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option("--host", help="Address; any other needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = 8740,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", help="File (mode 600) with the token that requests must bring."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host", help="Another host name that clients use for this server; may be repeated."
        ),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Take in cases and outcomes; needs a token.")
    ] = False,
) -> None:
    """Answer over HTTP; the knowledge is only read without --write.

    Example: tunegraph serve --port 8740
    """
    try:
        from recommender.service.server import listening_socket, serve
    except ImportError as missing:
        raise MissingDependencyError(
            f"serving needs {missing.name}", hint="in a clone: pip install '.[serve]'"
        ) from None
    from data import __version__
    from recommender.service.access import Access, read_token

    access = Access.of(host, allow_host or (), None if token_file is None else read_token(token_file))
    if write and access.token is None:
        raise InputError("writes need a token", hint="--token-file FILE, or leave --write out")
    open_workspace(context).close()  # makes it where there is none, and says now what is wrong with it
    places = settings(context)
    listener = listening_socket(host, port)
    shown = f"[{host}]" if ":" in host else host
    said = f"Serving {places.workspace} at http://{shown}:{listener.getsockname()[1]}"
    print(localised(said), file=sys.stderr)
    serve(places.workspace, places.cache, access, listener, __version__, writes=write)
