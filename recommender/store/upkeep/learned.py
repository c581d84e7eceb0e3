"""What was learned, kept beside the graph so that the batch which acknowledges it makes it valid at once.

A batch that learns writes a folder of its own number before the graph acknowledges it. Readers take
the newest folder up to the batch they see; the next writer removes folders of a batch that never was.
So a crash leaves what was before or what comes after.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from kg.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recommender.files import WorkspaceFiles


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


def write_folder(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files into a new folder, which is there with all of them or not at all.

    Args:
        folder: The folder; one of this name that is there is replaced.
        contents: Content of each file by its name.

    Raises:
        OSError: It cannot be written.
    """
    draft = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(parents=True)
        for name, content in contents.items():
            with (draft / name).open("wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
        descriptor = os.open(folder.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        raise
