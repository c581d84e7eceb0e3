"""Makes the ready-made workspace that a wheel carries: ``python -m tools.shipping.ready_workspace FILE``."""

import os
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.harness import option, parse
from embeddings.text_encoder import DEFAULT_MODEL
from kg.errors import MissingDependencyError
from recommender.files import WorkspaceFiles
from recommender.store import creation
from recommender.store.encoding import keep_shipped_texts
from recommender.workspace.workspace import Workspace


def main() -> None:
    """Make the workspace of what ships, and write its archive."""
    target = parse(__doc__, option("file", type=Path, help="the archive to write")).file
    epoch = os.environ.get("SOURCE_DATE_EPOCH")  # as reproducible builds set it
    made = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    with TemporaryDirectory() as place:
        layout = WorkspaceFiles(Path(place) / "workspace")
        Workspace.create(layout.root, cache=Path(place) / "cache", text_model=None, clock=lambda: made)
        _add_vectors_of_texts(layout, Path(place) / "cache")
        creation.pack_ready_made(layout, target)
    print(f"{target}: {target.stat().st_size / 1e6:.1f} MB of {creation.made_from()}")


def _add_vectors_of_texts(layout: WorkspaceFiles, cache: Path) -> None:
    """Add the vectors that the default text model makes; none where a text's is not shipped."""
    keep_shipped_texts(layout, DEFAULT_MODEL)
    layout.write({**layout.read(), "encoder": DEFAULT_MODEL})
    try:
        with Workspace.editor(layout.root, cache=cache):
            pass
    except MissingDependencyError:
        print("without vectors of texts: python -m tools.shipping.texts makes those of new ones")


if __name__ == "__main__":
    main()
