"""Learned models, kept beside the graph so that the batch which acknowledges them makes them valid at once.

A batch that learns writes a folder of its own number before the graph acknowledges it. Readers take
the newest folder up to the batch they see; the next writer removes folders of a batch that never was.
So a crash leaves what was before or what comes after.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from kg.errors import WorkspaceError
from recommender.files import WorkspaceFiles, write_folder


def keep_learned(layout: WorkspaceFiles, batch: int, contents: Mapping[str, bytes]) -> None:
    """Write what holds from a batch on, all of it; the batch is about to be acknowledged.

    Args:
        layout: The workspace.
        batch: Number of the batch.
        contents: Content of each file by its name.

    Raises:
        WorkspaceError: It cannot be written.
    """
    try:
        write_folder(layout.generations / str(batch), contents)
    except OSError as error:
        raise WorkspaceError(
            f"{layout.generations} cannot be written: {error.strerror or error}", hint="make room on the disk"
        ) from None


def sweep_learned(layout: WorkspaceFiles, batch: int) -> None:
    """Remove what was learned with batches after the newest acknowledged one; only the writer may."""
    if not layout.generations.is_dir():
        return
    for folder in layout.generations.iterdir():
        if not folder.name.isdecimal() or int(folder.name) > batch:
            shutil.rmtree(folder, ignore_errors=True)
