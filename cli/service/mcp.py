"""``tunegraph mcp``: the workspace as tools of an agent."""

from pathlib import Path
from typing import Annotated

import typer

from cli.context import open_workspace, settings
from kg.errors import InputError, MissingDependencyError


def mcp(
    context: typer.Context,
    allow: Annotated[
        list[Path] | None,
        typer.Option("--allow", help="Folder in which profiles may be read; may be repeated."),
    ] = None,
) -> None:
    """Offer agents seven reading tools over standard input (MCP).

    Example: tunegraph mcp --allow profiles
    """
    try:
        from recommender.service.agent_server import run_agent_server
    except ImportError as missing:
        raise MissingDependencyError(
            f"the tools of agents need {missing.name}", hint="in a clone: pip install '.[mcp]'"
        ) from None
    from data import __version__

    allowed = tuple(allow or ())
    for folder in allowed:
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder", hint="--allow names a folder that exists")
    open_workspace(context).close()  # makes it where there is none, and says now what is wrong with it
    places = settings(context)
    run_agent_server(places.workspace, places.cache, allowed, __version__)
