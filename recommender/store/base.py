"""The base of a workspace: where it came from, up to which batch, and its graph as it was then."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Self

from kg.errors import WorkspaceError
from kg.triples.finders import batch_records
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.snapshots import share
from kg.whole_files import write_json

if TYPE_CHECKING:
    from pathlib import Path

    from recommender.files import WorkspaceFiles

_DESCRIPTION, _GRAPH = "base.json", "graph"


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What is not a workspace's own: the batches and the knowledge that it began with.

    Attributes:
        place: Folder of a workspace, a backup file or its address; empty for what the program ships.
        batch: Newest batch that came from there.
        seal: Seal of that batch; empty without batches.
        snapshot: Number of the published graph: knowledge changes without a batch.
        shipped: Version of the shipped knowledge in it; empty if none.
        digest: Of the backup that it came in; empty if from a folder or the program.
    """

    place: str
    batch: int
    seal: str
    snapshot: int
    shipped: str
    digest: str = ""

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self.place or "the shipped knowledge"

    @classmethod
    def of(cls, folder: Path, place: str, shipped: object) -> Self:
        """Describe a published graph.

        Args:
            folder: Of the graph.
            place: Where it is from; empty for what the program ships.
            shipped: Version of the shipped knowledge in it; None if none.

        Raises:
            WorkspaceError: It is damaged.
        """
        with OxigraphStore(folder, read_only=True) as graph:
            records = batch_records(graph)
        batch = max(records, default=0)
        seal = records[batch].seal if batch else ""
        return cls(place=place, batch=batch, seal=seal, snapshot=int(folder.name), shipped=str(shipped or ""))

    @classmethod
    def read(cls, layout: WorkspaceFiles) -> Self | None:
        """Read the base of a workspace; None where an earlier program made it, or it has none.

        Raises:
            WorkspaceError: The description is damaged.
        """
        path = layout.base / _DESCRIPTION
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            return cls(**{name: raw[name] for name in cls.__dataclass_fields__})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise WorkspaceError(f"{path} is damaged: {error}", hint="restore the workspace") from None

    def keep(self, layout: WorkspaceFiles, folder: Path) -> None:
        """Write the description and keep the graph beside it.

        Args:
            layout: The workspace that rests on it.
            folder: A published graph that is open, so that nobody prunes it.

        Raises:
            OSError: It cannot be written.
        """
        share(folder, layout.base / _GRAPH)
        write_json(layout.base / _DESCRIPTION, asdict(self))


def open_base_graph(layout: WorkspaceFiles) -> OxigraphStore:
    """Open the graph of a workspace's base as it was taken over.

    Raises:
        WorkspaceError: It is missing or damaged.
    """
    return OxigraphStore(layout.base / _GRAPH, read_only=True)
