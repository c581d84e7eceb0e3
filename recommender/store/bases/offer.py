"""A workspace given out as one file for others to rest on: knowledge, cases and what was learned of them."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from recommender.files import WorkspaceFiles
from recommender.store.bases.clone import clone
from recommender.store.upkeep.backup import back_up

if TYPE_CHECKING:
    from recommender.store.upkeep.backup import Backup


def offer(layout: WorkspaceFiles, target: Path) -> Backup:
    """Write what readers see of a workspace to a file, without its questions and the samples of its tests.

    Args:
        layout: The workspace; others may read and write it meanwhile.
        target: The file to write.

    Raises:
        InputError: There is something at ``target`` already, or it cannot be written.
        WorkspaceError: The workspace is damaged.
    """
    with tempfile.TemporaryDirectory(dir=target.absolute().parent, prefix=".offer-") as folder:
        draft = WorkspaceFiles(Path(folder) / "workspace")
        draft.root.mkdir()
        manifest = clone(layout, draft, "")
        shutil.rmtree(draft.base)  # whoever rests on it keeps the graph that is in it
        draft.create(manifest)
        return back_up(draft, target)
