"""A workspace of the form before carried over: its graph becomes statements beside the rows."""

from __future__ import annotations

import shutil
from io import BytesIO
from typing import TYPE_CHECKING

from kg.lock import WriterLock
from kg.rows.carrying import carry_over, is_carried_over
from kg.triples.exchange import FORMATS
from kg.triples.finders import batch_records
from kg.triples.oxigraph_store import OxigraphStore
from recommender.files import FORMAT, OLD_FORMAT

if TYPE_CHECKING:
    from recommender.files import WorkspaceFiles

_MARK = "acknowledged"
"""What the manifest of the form before has besides."""

_OBSOLETE = ("vectors.log", "imports")


def upgrade(layout: WorkspaceFiles) -> bool:
    """Carry a workspace over; return False where it has the form of today.

    Rows and statements change in one step, the manifest in another; between the two the workspace is refused
    by every other command, and this one goes on where it ended. The next writer makes the vectors.

    Args:
        layout: The workspace.

    Raises:
        WorkspaceError: It is damaged, or of another form, or another process is writing.
    """
    if layout.form() == FORMAT:
        layout.read()
        return False
    manifest = layout.read(form=OLD_FORMAT)
    with WriterLock(layout.lock, command="tunegraph workspace upgrade"):
        if not is_carried_over(layout.trials):
            with OxigraphStore(layout.live) as graph:
                lines = BytesIO()
                graph.dump(lines, FORMATS["ntriples"])
                carry_over(layout.trials, batch_records(graph), lines.getvalue().decode())
        manifest.pop(_MARK, None)
        layout.write({**manifest, "format": FORMAT})
    for name in _OBSOLETE:
        path = layout.root / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return True
