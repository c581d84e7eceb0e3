"""Large batches written to the live graph in several steps, which count together or not at all.

One step of the graph engine takes twice as long for a large batch, and holds all of it in memory. So the
graph is published first, the number of the batch is noted beside it, and what the batch takes away and brings
is written in the way that is fast for much. The batch is acknowledged when the note is gone. A writer that
finds the note makes the live graph anew from the published one, which is the state before the batch.
"""

from __future__ import annotations

import os
import shutil
from itertools import islice
from typing import TYPE_CHECKING

from embeddings.vector_log import sync_folder
from kg.errors import WorkspaceError
from kg.triples.snapshots import newest, share

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from kg.triples.graph import Triple
    from kg.triples.oxigraph_store import OxigraphStore
    from recommender.files import WorkspaceFiles

BULK_TRIPLES = 200_000
"""Triples of a batch from which on several steps are faster, publishing included (measured with 100,000
outcomes of 200 problems);
a batch of an ingest stays below."""

PIECE = 100_000
"""Descriptions written in one step: some half a million statements, in a hundred megabytes."""


def write_in_bulk(
    layout: WorkspaceFiles,
    graph: OxigraphStore,
    number: int,
    removed: Sequence[Triple],
    added: Iterable[str],
) -> None:
    """Write a batch to the live graph, whose published copy must be of the batch before; it then counts.

    Args:
        layout: Files of the workspace.
        graph: Its live graph.
        number: Of the batch.
        removed: What it takes away.
        added: What it adds, its description included, in N-Triples.

    Raises:
        WorkspaceError: A step failed. The next writer takes the batch back.
    """
    try:
        _note(layout.unfinished, number)
        graph.remove(removed)
        texts = iter(added)
        while piece := dict.fromkeys(islice(texts, PIECE)):
            graph.load_plain("".join(piece).encode())
        graph.flush()
        layout.unfinished.unlink()
        sync_folder(layout.graph)
    except OSError as error:
        raise WorkspaceError(f"{layout.unfinished}: {error.strerror or error}") from None


def is_unfinished(layout: WorkspaceFiles) -> bool:
    """Return whether a batch in several steps was begun and not finished."""
    return layout.unfinished.exists()


def take_back(layout: WorkspaceFiles) -> None:
    """Make the live graph anew from the published one if a batch in several steps was cut off.

    Raises:
        WorkspaceError: There is no published graph, or the folder cannot be written.
    """
    if not is_unfinished(layout):
        return
    source = newest(layout.graph)
    if source is None:
        raise WorkspaceError(
            f"{layout.graph} has a batch that was cut off, and no published graph",
            hint="restore the workspace",
        )
    draft, aside = layout.graph / "live.new", layout.graph / "live.cut"
    try:
        for folder in (draft, aside):
            shutil.rmtree(folder, ignore_errors=True)
        share(source, draft)
        if layout.live.exists():
            layout.live.rename(aside)
        draft.rename(layout.live)
        sync_folder(layout.graph)
        layout.unfinished.unlink()
        shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise WorkspaceError(f"{layout.live} cannot be made anew: {error.strerror or error}") from None


def _note(path: Path, number: int) -> None:
    with path.open("w", encoding="ascii") as stream:
        stream.write(f"{number}\n")
        stream.flush()
        os.fsync(stream.fileno())
    sync_folder(path.parent)
