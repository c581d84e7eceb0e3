"""Workspaces made: an empty one, filled with what is shipped, and the writer that does it."""

from __future__ import annotations

import json
import math
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

import data
from embeddings.text_encoder import DEFAULT_MODEL, OnnxTextEncoder
from kg.atomic_files import write_bytes
from kg.rows.trials import TrialStore
from kg.rows.trials_file import copy_database
from recommender.files import FORMAT, PINNED, WorkspaceFiles, folder_beside
from recommender.store import shipped_knowledge as shipped
from recommender.store.base import Base
from recommender.store.encoding import default_model, keep_shipped_texts, prepare, problem_encoder
from recommender.store.graph_cache import make_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from recommender.store.editor import Editor
    from recommender.store.writing.writer import Writer


def create(
    layout: WorkspaceFiles,
    cache: Path,
    *,
    text_model: str | None,
    with_shipped: bool,
    clock: Callable[[], datetime],
    on_step: Callable[[str], None] = lambda _: None,
) -> None:
    """Make a workspace; it is one once this returns.

    Args:
        layout: Where.
        cache: The user's cache directory.
        text_model: Name of the text model; None for structured features alone; the default where it can
            be had if empty.
        with_shipped: Fill it with the shipped knowledge and cases.
        clock: Tells the time.
        on_step: Called with what begins, in words, where it takes more than a second.

    Raises:
        WorkspaceError: The directory holds something else, or cannot be written.
        MissingDependencyError: The text model cannot be had here.
    """
    layout.prepare()
    model = default_model(cache) if text_model == "" else text_model
    prepare(cache, model, on_step)
    if with_shipped and _create_from_ready_made(layout, cache, model, clock):
        return
    if with_shipped and model is not None:
        keep_shipped_texts(layout, model)
    with editor(layout, cache, model, clock, command="create") as writing:
        if with_shipped:
            on_step("reading the shipped knowledge, some five seconds")
            writing.add_knowledge([*shipped.knowledge(), *shipped.recipes()])
            from importlib.resources import as_file

            on_step("taking in the shipped cases, some four seconds")
            with ExitStack() as files:
                paths = [files.enter_context(as_file(data.resource(name))) for name in shipped.case_files()]
                # in one batch on any machine, so that the same knowledge has the same version everywhere
                writing.ingest(paths, batch_s=math.inf)
    Base.keep(layout, shipped.version() if with_shipped else "")
    layout.create(_manifest(cache, model, clock, with_shipped=with_shipped))


def _create_from_ready_made(
    layout: WorkspaceFiles, cache: Path, model: str | None, clock: Callable[[], datetime]
) -> bool:
    """Make the workspace from the one that ships ready, beside its place, and move it there in one step.

    Returns:
        Whether it was made. It is not where none ships, or where the place is not empty: what a
        workspace that lost its manifest has is mended, not replaced.
    """
    root = layout.root.absolute()
    if [item.name for item in root.iterdir()] != [layout.graph.name] or any(layout.graph.iterdir()):
        return False
    try:
        with folder_beside(root) as place:
            draft = WorkspaceFiles(Path(place) / "workspace")
            if not unpack_ready_made(draft):
                return False
            if model is not None:
                keep_shipped_texts(draft, model)
            if not _has_vectors(draft, model):
                with editor(draft, cache, model, clock, command="create"):
                    pass  # entering it makes the vectors
            Base.keep(draft, shipped.version())
            draft.create(_manifest(cache, model, clock, with_shipped=True))
            draft.root.chmod(root.stat().st_mode & 0o777)
            layout.graph.rmdir()
            draft.root.rename(root)  # an empty folder gives way
    except OSError:  # the folder above may not be written, or another process was first
        layout.graph.mkdir(parents=True, exist_ok=True)
        return layout.exists()
    return True


def _manifest(
    cache: Path, model: str | None, clock: Callable[[], datetime], *, with_shipped: bool
) -> dict[str, object]:
    return {
        "created": clock().isoformat(timespec="seconds"),
        "by": f"tunegraph {data.__version__}",
        "encoder": model,
        PINNED: None if model is None else OnnxTextEncoder(cache, model).digests,
        "shipped": shipped.version() if with_shipped else None,
    }


def editor(
    layout: WorkspaceFiles,
    cache: Path,
    model: str | None,
    clock: Callable[[], datetime],
    *,
    command: str,
) -> Editor:
    """Return the writing side of a workspace; it takes the lock when it is entered."""
    from recommender.store.editor import Editor  # the readers of all formats come with it

    return Editor(writer(layout, cache, model, clock, command=command))


def editor_at(path: Path, cache: Path, clock: Callable[[], datetime], *, command: str = "") -> Editor:
    """Return the writing side of the workspace at a path, which need not be readable.

    Raises:
        WorkspaceError: There is no workspace, or it is of another version.
    """
    layout = WorkspaceFiles(path)
    model = text_model(layout.read(for_writing=True))
    return editor(layout, cache, model, clock, command=command)


def writer(
    layout: WorkspaceFiles,
    cache: Path,
    model: str | None,
    clock: Callable[[], datetime],
    *,
    command: str,
) -> Writer:
    """Return the writer of a workspace; it takes the lock when it is entered."""
    from recommender.store.writing.writer import Writer  # a question is answered without it

    encoder = partial(problem_encoder, layout=layout, cache=cache, model=model, read_only=False)
    return Writer(layout, encoder, clock, command=command)


def text_model(manifest: Mapping[str, object]) -> str | None:
    """Return the name of the text model that a manifest names; None for structured features alone."""
    name = manifest.get("encoder")
    return name if isinstance(name, str) else None


READY_MADE = "ready/workspace.zip"
"""The archive among the shipped files."""

_NOTE = "made-from.json"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time of each member: the same archive comes of the same workspace."""


def made_from() -> dict[str, object]:
    """The origin that a usable archive must have: the shipped files and the format of workspaces."""
    return {"shipped": shipped.version(), "format": FORMAT}


def pack_ready_made(layout: WorkspaceFiles, target: Path) -> None:
    """Write the archive of a workspace that was just made from the shipped knowledge.

    Args:
        layout: The workspace; it has the vectors of every text model that is to ship with it.
        target: The file to write.

    Raises:
        WorkspaceError: The workspace cannot be read.
        OSError: The file cannot be written.
    """
    with TemporaryDirectory() as place:
        copy = Path(place) / layout.trials.name
        copy_database(layout.trials, copy)
        content = copy.read_bytes()
    with ZipFile(target, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(ZipInfo(_NOTE, _LONG_AGO), json.dumps(made_from()))
        archive.writestr(ZipInfo(layout.trials.name, _LONG_AGO), content, ZIP_DEFLATED)


def _has_vectors(layout: WorkspaceFiles, model: str | None) -> bool:
    """Return whether a ready-made workspace brings the vectors of a text model."""
    with TrialStore(layout.trials, read_only=True) as trials:
        [[encoders]] = trials.file.read("SELECT count(*) FROM encoders")
    needed = {None: 1, DEFAULT_MODEL: 2}.get(model)
    return needed is not None and bool(encoders >= needed)


def unpack_ready_made(layout: WorkspaceFiles) -> bool:
    """Put the ready-made workspace into a new folder, and make its graph.

    Args:
        layout: Where; there is nothing yet.

    Returns:
        Whether there is one that fits what ships; else the folder is as it was.

    Raises:
        WorkspaceError: The graph cannot be written.
        OSError: A file cannot be written.
    """
    try:
        with data.resource(READY_MADE).open("rb") as stream, ZipFile(stream) as archive:
            if json.loads(archive.read(_NOTE)) != made_from():
                return False
            content = archive.read(layout.trials.name)
    except (FileNotFoundError, BadZipFile, KeyError, ValueError):  # none, or damaged: members have checksums
        return False
    layout.root.mkdir(parents=True)
    write_bytes(layout.trials, content)
    make_graph(layout)
    return True
