"""Parts of a workspace copied while others read and write it: what was acknowledged up to a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embeddings.vector_log import copy_log
from kg.rows import seals
from kg.rows.trials import TrialStore
from kg.rows.trials_file import copy_database

if TYPE_CHECKING:
    from recommender.files import WorkspaceFiles


def copy_evidence(layout: WorkspaceFiles, draft: WorkspaceFiles, batch: int) -> None:
    """Copy rows and vectors up to a batch.

    Args:
        layout: The workspace.
        draft: Where to; its folder is there.
        batch: The newest batch that comes along.

    Raises:
        WorkspaceError: They cannot be read, or the copy cannot be written.
        OSError: The copy of the vectors cannot be written.
    """
    copy_database(layout.trials, draft.trials)
    with TrialStore(draft.trials) as trials:
        seals.prepare(trials.file)
        seals.cut(trials.file, batch)
        seals.acknowledge(trials.file, batch)
    if layout.vectors.exists():
        copy_log(layout.vectors, draft.vectors, batch)
