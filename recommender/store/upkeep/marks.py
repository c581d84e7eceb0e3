"""High-water marks: which newest batch each part of a workspace knows, and whether they can be true together.

The writer notes the newest acknowledged batch in the graph, in the trial store and in ``workspace.json``. A
crash leaves at most one batch that the graph did not acknowledge. More than that is an older copy of a part,
or damage, and no writer may go on from there: it would sweep what others acknowledged.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.errors import WorkspaceError
from kg.rows import seals
from kg.triples.finders import batch_records
from kg.triples.serialisation import newest_batch
from kg.triples.snapshots import open_newest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kg.rows.trials import TrialStore
    from kg.triples.finders import BatchRecord
    from kg.triples.graph import GraphStore
    from recommender.files import WorkspaceFiles

KEY = "acknowledged"
"""Where ``workspace.json`` has its mark: the newest batch and its seal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The newest batches that the parts of a workspace name.

    Attributes:
        records: The batches of the graph.
        published: Newest batch of the published graph; None if it cannot be read.
        newest_row: Newest batch that a row bears, acknowledged or not.
        noted: Newest batch that the trial store notes as acknowledged; None in older workspaces.
        seals: Seals of batches in the trial store.
        rows: Rows of the batches that the graph has.
        manifest: Newest batch that ``workspace.json`` notes, and its seal; None in older workspaces.
    """

    records: Mapping[int, BatchRecord]
    published: int | None
    newest_row: int
    noted: int | None
    seals: Mapping[int, str]
    rows: int
    manifest: tuple[int, str] | None

    @classmethod
    def read(cls, layout: WorkspaceFiles, graph: GraphStore, trials: TrialStore) -> Marks:
        """Read the marks of a workspace.

        Args:
            layout: Its files.
            graph: The live graph.
            trials: Its trial store.
        """
        records = batch_records(graph)
        noted, sealed = seals.recorded(trials.file)
        return cls(
            records=records,
            published=_published(layout),
            newest_row=seals.newest_row(trials.file),
            noted=noted,
            seals=sealed,
            rows=seals.rows_up_to(trials.file, max(records, default=0)),
            manifest=_manifest_mark(layout),
        )

    @property
    def graph(self) -> int:
        """Newest batch of the graph."""
        return max(self.records, default=0)

    def contradictions(self) -> Iterator[str]:
        """Say what is ahead of what, or differs, beyond what a crash can leave."""
        yield from self._differences()
        if ahead := self.rows_ahead:
            yield ahead

    @property
    def only_rows_ahead(self) -> bool:
        """Whether the one contradiction is rows that the graph never acknowledged.

        That is what a loss of power leaves: rows reach the disk before the graph does. An older copy of the
        graph looks the same but for ``workspace.json``, which then names a newer batch.
        """
        return bool(self.rows_ahead) and not any(self._differences())

    @property
    def rows_ahead(self) -> str:
        """Say how far the rows are ahead of the graph; empty if not beyond what a crash can leave."""
        here = self.graph
        if self.noted is not None and self.noted > here:
            return f"the trial store has acknowledged batch {self.noted}, the graph ends with batch {here}"
        if self.newest_row > here + 1:
            return f"the trial store has rows of batch {self.newest_row}, the graph ends with batch {here}"
        return ""

    def _differences(self) -> Iterator[str]:
        """Say which parts cannot belong together, whatever the rows beyond the graph are."""
        here = self.graph
        if self.manifest and (noted := self.manifest[0]) > here:
            yield f"workspace.json has acknowledged batch {noted}, the graph ends with batch {here}"
        if self.published is not None and self.published > here:
            yield f"the published graph has batch {self.published}, the live graph ends with batch {here}"
        expected = sum(record.rows for record in self.records.values())
        if self.rows != expected:
            yield f"the graph acknowledges {expected:,} rows, the trial store has {self.rows:,} of them"
        common = max((number for number in self.seals if number in self.records), default=0)
        if common and self.seals[common] != self.records[common].seal:
            yield f"batch {common} has another seal in the graph than in the trial store"
        if (
            self.manifest
            and (record := self.records.get(self.manifest[0]))
            and record.seal != self.manifest[1]
        ):
            yield f"batch {self.manifest[0]} has another seal in the graph than in workspace.json"

    def check(self, layout: WorkspaceFiles) -> None:
        """Refuse to write where the parts contradict each other.

        Raises:
            WorkspaceError: They do; nothing was changed.
        """
        if faults := list(self.contradictions()):
            raise WorkspaceError(
                f"{layout.root} is damaged, or a part of it is an older copy: {'; '.join(faults)}",
                hint="nothing was changed; tunegraph doctor says what to do",
            )


def note_in_manifest(layout: WorkspaceFiles, batch: int, seal: str) -> None:
    """Note the newest acknowledged batch in ``workspace.json``; before that is made, do nothing.

    Raises:
        OSError: It cannot be written; the older mark stands, which is true too.
    """
    if layout.manifest.is_file() and _manifest_mark(layout) != (batch, seal):
        layout.write({**layout.read(), KEY: {"batch": batch, "seal": seal}})


def _manifest_mark(layout: WorkspaceFiles) -> tuple[int, str] | None:
    try:
        mark = json.loads(layout.manifest.read_text(encoding="utf-8")).get(KEY)
        return None if mark is None else (int(mark["batch"]), str(mark["seal"]))
    except FileNotFoundError:  # a workspace that is being made
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise WorkspaceError(f"{layout.manifest} is damaged: {error}") from None


def _published(layout: WorkspaceFiles) -> int | None:
    try:
        with open_newest(layout.graph) as graph:
            return newest_batch(graph)
    except WorkspaceError:
        return None
