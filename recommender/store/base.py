"""The base of a workspace: the shipped knowledge that it began with, and its graph as it was then."""

import shutil
from dataclasses import asdict, dataclass
from typing import Self

from kg.atomic_files import write_json
from kg.errors import WorkspaceError
from kg.nouns.values import load_json
from kg.triples.graph import GraphStore
from kg.triples.serialisation import newest_batch
from kg.triples.snapshots import newest, share
from recommender.files import DIGEST, WorkspaceFiles, digest_of

_DESCRIPTION, _GRAPH = "base.json", "graph"


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """Base of a workspace: the batches and the knowledge that it began with.

    Attributes:
        batch: Newest batch of it.
        shipped: Version of the shipped knowledge in it; empty if none.
    """

    batch: int
    shipped: str

    @classmethod
    def read(cls, layout: WorkspaceFiles) -> Self:
        """Read the base of a workspace.

        Raises:
            WorkspaceError: The description is missing or damaged.
        """
        path = layout.base / _DESCRIPTION
        try:
            raw = load_json(path.read_text(encoding="utf-8"))
            made, digest = cls(**{name: raw[name] for name in cls.__dataclass_fields__}), digest_of(raw)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise WorkspaceError(f"{path} is damaged: {error}", hint="restore the workspace") from None
        if raw.get(DIGEST) != digest:
            raise WorkspaceError(f"{path} is not what was written", hint="restore the workspace")
        return made

    @classmethod
    def keep(cls, layout: WorkspaceFiles, shipped: str) -> None:
        """Keep the published graph of a workspace that nobody else knows yet as what it began with.

        Args:
            layout: The workspace.
            shipped: Version of the shipped knowledge in it.

        Raises:
            WorkspaceError: The graph is damaged.
            OSError: It cannot be written.
        """
        shutil.rmtree(layout.base, ignore_errors=True)  # of a creation that was cut off
        folder = newest(layout.graph)
        if folder is None:
            raise WorkspaceError(
                f"{layout.graph} is empty", hint="restore the workspace, or make another with --workspace"
            )
        with GraphStore(folder, read_only=True) as graph:
            share(folder, layout.base / _GRAPH)
            content = asdict(cls(batch=newest_batch(graph), shipped=shipped))
            write_json(layout.base / _DESCRIPTION, {**content, DIGEST: digest_of(content)})


def open_base_graph(layout: WorkspaceFiles) -> GraphStore:
    """Open the graph of a workspace's base as it was taken over.

    Raises:
        WorkspaceError: It is missing or damaged.
    """
    return GraphStore(layout.base / _GRAPH, read_only=True)
