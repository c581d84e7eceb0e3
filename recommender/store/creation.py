"""Workspaces made: an empty one, filled with what is shipped, and the writer that does it."""

from __future__ import annotations

import math
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import data
from embeddings.text_encoder import OnnxTextEncoder
from kg.triples.snapshots import newest
from recommender.files import PINNED
from recommender.store import shipped_knowledge as shipped
from recommender.store.base import Base
from recommender.store.encoding import default_model, prepare, problem_encoder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from recommender.files import WorkspaceFiles
    from recommender.store.editor import Editor
    from recommender.store.writing.writer import Writer


def create(
    layout: WorkspaceFiles,
    cache: Path,
    *,
    text_model: str | None,
    with_shipped: bool,
    clock: Callable[[], datetime],
) -> None:
    """Make a workspace; it is one once this returns.

    Args:
        layout: Where.
        cache: The user's cache directory.
        text_model: Name of the text model; None for structured features alone; the default where it can
            be had if empty.
        with_shipped: Fill it with the shipped knowledge and cases.
        clock: Tells the time.

    Raises:
        WorkspaceError: The directory holds something else, or cannot be written.
        MissingDependencyError: The text model cannot be had here.
    """
    layout.prepare()
    model = default_model(cache) if text_model == "" else text_model
    prepare(cache, model)
    with editor(layout, cache, model, clock, command="create", durable=True) as writing:
        if with_shipped:
            writing.add_knowledge([*shipped.knowledge(), *shipped.recipes()])
            from importlib.resources import as_file

            with ExitStack() as files:
                paths = [files.enter_context(as_file(data.resource(name))) for name in shipped.case_files()]
                # in one batch on any machine, so that the same knowledge has the same version everywhere
                writing.ingest(paths, batch_s=math.inf)
    if with_shipped and (folder := newest(layout.graph)):
        Base.of(folder, "", shipped.version()).keep(layout, folder)
    layout.create(
        {
            "created": clock().isoformat(timespec="seconds"),
            "by": f"tunegraph {_program_version()}",
            "encoder": model,
            PINNED: None if model is None else OnnxTextEncoder(cache, model).digests,
            "shipped": shipped.version() if with_shipped else None,
        }
    )


def editor(
    layout: WorkspaceFiles,
    cache: Path,
    model: str | None,
    clock: Callable[[], datetime],
    *,
    command: str,
    durable: bool,
) -> Editor:
    """Return the writing side of a workspace; it takes the lock when it is entered."""
    from recommender.store.editor import Editor  # the readers of all formats come with it

    return Editor(writer(layout, cache, model, clock, command=command, durable=durable))


def writer(
    layout: WorkspaceFiles,
    cache: Path,
    model: str | None,
    clock: Callable[[], datetime],
    *,
    command: str,
    durable: bool,
) -> Writer:
    """Return what adds batches to a workspace; it takes the lock when it is entered."""
    from recommender.store.writing.writer import Writer  # a question is answered without it

    encoder = partial(problem_encoder, layout=layout, cache=cache, model=model, read_only=False)
    return Writer(layout, encoder, clock, command=command, durable=durable)


def text_model(manifest: Mapping[str, object]) -> str | None:
    """Return the name of the text model that a manifest names; None for structured features alone."""
    name = manifest.get("encoder")
    return name if isinstance(name, str) else None


def _program_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("tunegraph")
    except PackageNotFoundError:
        return "not installed"
