"""The newest published state of a workspace as a file, made when it is first asked for."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from recommender.store.bases.offer import offer

if TYPE_CHECKING:
    from recommender.workspace.workspace import Workspace


class SnapshotFile:
    """A folder with the newest state that was asked for; one thread uses it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tunegraph-snapshot-")

    def newest(self, workspace: Workspace) -> Path:
        """The file of the workspace's newest state; a transfer of an older one goes on.

        Raises:
            WorkspaceError: The workspace is damaged, or there is no room for the file.
        """
        published = workspace.snapshot.folder
        path = Path(self._folder.name) / f"{published.stat().st_ino}-{published.name}.backup"
        if not path.exists():
            for old in sorted(path.parent.glob("*.backup"), key=lambda item: item.stat().st_mtime)[:-1]:
                old.unlink()
            offer(workspace.layout, path)
        return path

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()
