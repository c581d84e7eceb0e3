"""A new workspace that begins as a copy of another: its base.

The graph's blocks and the index of vectors never change once they are written: they are linked where both lie
on one file system. Rows and vectors are copied up to the newest acknowledged batch, because their files grow
in place. So nothing that either does afterwards touches the other, and the base may move or vanish.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from kg.errors import WorkspaceError
from kg.rows import seals
from kg.rows.trials import TrialStore
from kg.rows.trials_file import copy_database
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.snapshots import newest, open_newest, publish, share
from recommender.files import write_folder
from recommender.store.base import Base
from recommender.store.upkeep.copying import copy_evidence
from recommender.store.upkeep.marks import KEY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.files import WorkspaceFiles

INDEX = "index"
"""Folder of the index of vectors; see ``embeddings.index``."""


def clone(
    source: WorkspaceFiles, draft: WorkspaceFiles, place: str, *, digest: str = "", after: int = 0
) -> Mapping[str, object]:
    """Copy what readers of a workspace see into a new one, which is none before its manifest is written.

    Args:
        source: The workspace; it is only read.
        draft: The new one.
        place: What the new one is to remember as the place of its base.
        digest: Of the backup that the source was unpacked from; empty if from none.
        after: Number of the published graph that the first of the new one follows.

    Returns:
        What the manifest of the new one says of encoder, shipped knowledge and newest batch.

    Raises:
        WorkspaceError: The source is damaged or of another version, or the draft cannot be written.
    """
    manifest = source.read()
    try:
        with open_newest(source.graph):  # keeps its files from being pruned
            folder = newest(source.graph)
            if folder is None:
                raise WorkspaceError(f"{source.root} has no published graph", hint="tunegraph doctor")
            base = replace(Base.of(folder, place, manifest.get("shipped")), digest=digest)
            share(folder, draft.live)
            base.keep(draft, folder)
        with OxigraphStore(draft.live) as graph:
            publish(graph, draft.graph, after=after)
        copy_evidence(source, draft, base.batch)
        with TrialStore(draft.trials) as trials:
            seals.put_in_quarantine(trials.file, ())
        _copy_learned(source, draft, base.batch)
    except OSError as error:
        raise WorkspaceError(f"{draft.root} cannot be written: {error.strerror or error}") from None
    return {**manifest, KEY: {"batch": base.batch, "seal": base.seal}}


def _copy_learned(source: WorkspaceFiles, draft: WorkspaceFiles, batch: int) -> None:
    """Take over what was learned of the cases, and caches, which are made again where they are missing."""
    if learned := source.learned(batch).contents():
        write_folder(draft.generations / str(batch), learned)
    if source.models.is_dir():
        shutil.copytree(source.models, draft.models)
    if source.texts.is_file():
        with suppress(WorkspaceError):
            copy_database(source.texts, draft.texts)
    index = source.root / INDEX
    if not index.is_dir():
        return
    (draft.root / INDEX).mkdir()
    for path in index.glob("*.faiss"):
        with suppress(OSError):
            os.link(path, draft.root / INDEX / path.name)
    with suppress(OSError):
        shutil.copyfile(index / "manifest.json", draft.root / INDEX / "manifest.json")
