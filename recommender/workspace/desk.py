"""A desk: one side of an open workspace, which reads its newest snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareTree
    from kg.triples.names import Names
    from recommender.files import WorkspaceFiles
    from recommender.store.editor import Editor
    from recommender.store.snapshot import WorkspaceSnapshot


class OpenWorkspace(Protocol):
    """A workspace as its desks see it.

    Attributes:
        snapshot: The state that is read; ``refresh`` puts the newest in its place.
        layout: Its files.
        cache: The user's cache directory.
        clock: Tells the time, with its time zone.
    """

    snapshot: WorkspaceSnapshot
    layout: WorkspaceFiles
    cache: Path
    clock: Callable[[], datetime]

    def edit(self, *, command: str = "") -> Editor:
        """Return the writing side; enter it to take the lock."""

    def refresh(self) -> None:
        """Read on from the newest acknowledged state."""


class Desk:
    """One side of an open workspace.

    Args:
        workspace: The workspace.
    """

    __slots__ = ("workspace",)

    def __init__(self, workspace: OpenWorkspace) -> None:
        self.workspace = workspace

    @property
    def snapshot(self) -> WorkspaceSnapshot:
        """The state that is read."""
        return self.workspace.snapshot

    @property
    def graph(self) -> GraphStore:
        """The knowledge, and the problems."""
        return self.snapshot.graph

    @property
    def trials(self) -> TrialStore:
        """The measured rows."""
        return self.snapshot.trials

    @property
    def hardware(self) -> HardwareTree:
        """Devices and their facts."""
        return self.snapshot.hardware

    @property
    def names(self) -> Names:
        """Resolves the names of hardware and models."""
        return self.snapshot.names
