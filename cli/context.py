"""The workspace that a command uses, and the cache."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from tunegraph.places import Places

if TYPE_CHECKING:
    import typer

    from recommender.store.editor import Editor
    from recommender.workspace import Workspace

_say = partial(print, file=sys.stderr)


def settings(context: typer.Context) -> Places:
    """The folders of this run."""
    return context.find_object(Places) or Places.resolve(None, os.environ)


def open_workspace(context: typer.Context) -> Workspace:
    """Open the workspace for reading; the first time, make it from the shipped knowledge."""
    return settings(context).open(_say)


def open_for_writing(context: typer.Context, *, durable: bool = False) -> Editor:
    """The writing side of the workspace, not entered yet; the first time, the workspace is made."""
    from recommender.workspace import Workspace

    chosen = settings(context)
    chosen.make(_say)
    return Workspace.editor(chosen.workspace, cache=chosen.cache, durable=durable)
