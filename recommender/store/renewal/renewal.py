"""An older workspace put on the knowledge that ships now: that is renewed, and what is its own stays.

The new workspace is made beside the old one: what ships now, and on it the own records, replayed batch by
batch through the one writer with the times they had. Then the two folders are exchanged in one step. A crash
leaves the old workspace or the new one. Where both changed a node of the knowledge, the workspace's
description stays and the difference is told.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from kg.errors import WorkspaceError
from kg.lock import WriterLock
from kg.rows.trials_file import copy_database
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.snapshots import newest_number, publish
from recommender.files import WorkspaceFiles
from recommender.store import creation
from recommender.store.base import Base
from recommender.store.renewal.replay import RenewalResult, replay
from recommender.store.upkeep.exchange import put_in_place

INDEX = "index"
"""Folder of the index of vectors; see ``embeddings.index``."""


def renew(
    layout: WorkspaceFiles,
    cache: Path,
    *,
    version: str,
    make: Callable[[WorkspaceFiles], None],
    clock: Callable[[], datetime],
    anyhow: bool = False,
) -> RenewalResult:
    """Put a workspace on the knowledge that ships now.

    Args:
        layout: The workspace.
        cache: The user's cache directory.
        version: Of the shipped knowledge.
        make: Makes a workspace of it with the text model of this one.
        clock: Tells the time.
        anyhow: Renew it although it has that knowledge.

    Raises:
        WorkspaceError: Another process is writing, or the folder above cannot be written to; nothing was
            changed.
    """
    manifest = layout.read(for_writing=True)
    with creation.editor(layout, cache, creation.text_model(manifest), clock, command="workspace renew"):
        pass  # what a crash left is swept, and readers see what was acknowledged
    then = Base.read(layout)
    if then.shipped == version and not anyhow:
        return RenewalResult(base=then, is_new=False)
    root = layout.root.resolve()
    with ExitStack() as stack:
        lock = stack.enter_context(WriterLock(layout.lock, command="tunegraph workspace renew"))
        if lock.was_left:
            raise WorkspaceError(f"{root} was written to meanwhile", hint="run the command again")
        for left in root.parent.glob(f".{root.name}-renew-*"):
            shutil.rmtree(left, ignore_errors=True)
        try:
            scratch = stack.enter_context(
                tempfile.TemporaryDirectory(dir=root.parent, prefix=f".{root.name}-renew-")
            )
            draft = WorkspaceFiles(Path(scratch) / "workspace")
            make(draft)
            with OxigraphStore(draft.live) as graph:
                publish(graph, draft.graph, after=newest_number(layout.graph))
            draft.write({**draft.read(), "created": manifest.get("created")})
            result = replay(layout, draft, then, cache)
            _carry_files(layout, draft)
            draft.root.chmod(root.stat().st_mode & 0o777)
        except OSError as error:
            reason = error.strerror or "not all files can be copied"
            raise WorkspaceError(f"{root.parent} cannot be written to: {reason}", hint="make room") from None
        os.sync()  # against loss of power: all of the new one is on the disk before it takes the place
        lock.finish()
        aside = put_in_place(draft.root, root)
    if aside is not None:
        shutil.rmtree(aside, ignore_errors=True)
    return result


def _carry_files(layout: WorkspaceFiles, draft: WorkspaceFiles) -> None:
    """Copy what is no record of the graph: tests, questions asked, carbon series, and what is not ours."""
    made = {path.name for path in (layout.lock, layout.graph, layout.manifest, layout.base, layout.versions)}
    made |= {path.name for path in (layout.generations, layout.models, layout.completions)}
    made |= {INDEX, *(path.name for path in layout.learned(0).paths)}
    for path in layout.root.iterdir():
        if path.name in made or path.name.startswith((layout.trials.name, layout.texts.name)):
            continue
        if path == layout.questions:
            copy_database(path, draft.questions)
        elif path.is_dir():
            shutil.copytree(path, draft.root / path.name)
        elif not path.name.startswith(layout.questions.name):
            shutil.copy2(path, draft.root / path.name)
