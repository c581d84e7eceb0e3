"""A thread that owns one open workspace: requests are answered in turn, from the newest published state."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from kg.errors import WorkspaceError
from kg.triples.snapshots import newest

if TYPE_CHECKING:
    from collections.abc import Callable

    from recommender.workspace.workspace import Workspace

T = TypeVar("T")

MOST_WAITING = 256
"""Requests that may wait in a lane: at 15 ms each the last waits four seconds. A choice."""


class BusyError(WorkspaceError):
    """More wait than can be answered soon."""


class Lane:
    """One thread and its workspace: SQLite connections stay in their thread, and answers never race.

    Args:
        open_workspace: Opens it; called in the thread, at the first request or by :meth:`start`.
    """

    def __init__(self, open_workspace: Callable[[], Workspace]) -> None:
        self._open = open_workspace
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lane")
        self._workspace: Workspace | None = None
        self._waiting = 0

    async def start(self) -> None:
        """Open the workspace and load what answers need."""
        await self.run(lambda workspace: workspace.snapshot.recommender)

    async def run(self, work: Callable[[Workspace], T]) -> T:
        """Do a piece of work in the thread.

        Raises:
            BusyError: Too many wait already.
        """
        if self._waiting >= MOST_WAITING:
            raise BusyError(f"{self._waiting} requests wait already", hint="ask again in a second")
        self._waiting += 1
        try:
            return await asyncio.wrap_future(self._thread.submit(self._do, work))
        finally:
            self._waiting -= 1

    def _do(self, work: Callable[[Workspace], T]) -> T:
        if self._workspace is None:
            self._workspace = self._open()
        elif newest(self._workspace.layout.graph) != self._workspace.snapshot.folder:
            self._workspace.refresh()
        return work(self._workspace)

    async def close(self) -> None:
        """Close the workspace and end the thread."""

        def close() -> None:
            if self._workspace is not None:
                self._workspace.close()
                self._workspace = None

        await asyncio.wrap_future(self._thread.submit(close))
        self._thread.shutdown()


def snapshot_state(workspace: Workspace) -> dict[str, object]:
    """Version and age in seconds of the state that answers rest on."""
    published = (workspace.layout.graph / "CURRENT").stat().st_mtime
    return {
        "knowledge_version": workspace.snapshot.knowledge_version,
        "batch": workspace.snapshot.batch,
        "snapshot_age_s": round(max(0.0, time.time() - published), 1),
    }
