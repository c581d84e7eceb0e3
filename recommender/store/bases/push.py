"""The own records of a workspace in one file, for the owner of its base to merge.

The file is a backup of a small workspace that holds what is above the base and nothing else: cases,
outcomes, knowledge, sources as the cases name them. Names of files, questions, samples of tests, commands,
hosts and times of writing stay at home.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kg.errors import InputError
from kg.rows.layering import described_knowledge, knowledge_layer, left_over
from kg.rows.trials import TrialStore
from kg.triples.serialisation import newest_batch
from kg.triples.snapshots import open_newest
from recommender.files import WorkspaceFiles
from recommender.store import creation
from recommender.store.base import Base, open_base_graph
from recommender.store.bases.own_records import OwnRecords
from recommender.store.upkeep.backup import back_up
from recommender.store.writing.writer import Additions

if TYPE_CHECKING:
    from recommender.store.upkeep.backup import Backup


def push(layout: WorkspaceFiles, cache: Path, target: Path) -> tuple[Backup, Additions, tuple[str, ...]]:
    """Write what a workspace has above its base to a file; ``kb merge`` takes it.

    Args:
        layout: The workspace; it is only read.
        cache: The user's cache directory.
        target: The file to write.

    Returns:
        The file, the rows and problems in it, and the names of the described things.

    Raises:
        InputError: The workspace rests on no base, has nothing above it, or the file cannot be written.
        WorkspaceError: The workspace is damaged.
    """
    layout.read()
    base = Base.read(layout)
    if base is None:
        raise InputError(f"{layout.root} rests on no base that it knows of", hint="tunegraph kb rebase")
    with (
        tempfile.TemporaryDirectory(dir=target.absolute().parent, prefix=".push-") as folder,
        open_newest(layout.graph) as graph,
        open_base_graph(layout) as was,
        TrialStore(layout.trials, read_only=True, acknowledged=newest_batch(graph)) as trials,
    ):
        own = OwnRecords(graph=graph, trials=trials, after=base.batch, base=was)
        below = described_knowledge(was)
        layer = knowledge_layer(described_knowledge(graph), below, below)
        draft = WorkspaceFiles(Path(folder) / "workspace")
        # An empty workspace has neither the hardware nor the texts of the base: its vectors are never asked.
        creation.create(draft, cache, text_model=None, with_shipped=False, clock=lambda: datetime.now(UTC))
        now = datetime.now(UTC)
        with creation.writer(draft, cache, None, lambda: now, command="kb push", durable=False) as writer:
            writer.graph.extend(layer.added)
            added = Additions()
            for item in own.batches():
                added += writer.add(item.cases, about=item.outcomes)
            writer.graph.extend(left_over(graph, was, writer.graph))
            writer.changed()
        if not added.rows and not layer.nodes:
            raise InputError(f"{layout.root} has nothing that {base.name} has not")
        return back_up(draft, target), added, layer.nodes
