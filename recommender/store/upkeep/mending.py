"""Damaged parts of a workspace made again; the rest is said.

The graph is made from the batches, the vectors from the problems, and the indexes of the rows from the rows.
What is replaced of the graph is renamed, never deleted.
"""

from collections.abc import Iterator
from pathlib import Path

from embeddings.text_encoder import OnnxTextEncoder
from embeddings.vector_table import forget
from kg.errors import WorkspaceError
from kg.lock import WriterLock
from kg.rows.copies import mark_copied_devices
from kg.rows.trials import TrialStore
from recommender.files import PINNED, WorkspaceFiles
from recommender.store.graph_cache import make_graph
from recommender.store.upkeep.checkup import (
    RESTORE,
    file_faults,
    is_lost,
    live_fault,
    published_fault,
    vector_fault,
)
from recommender.store.upkeep.exchange import name_aside


def mend(layout: WorkspaceFiles, cache: Path) -> Iterator[str]:
    """Make damaged parts again from sound ones, and say what was done.

    Vectors are only deleted here: the writer that follows makes them.

    Args:
        layout: The workspace.
        cache: The user's cache directory, where text models are.

    Raises:
        WorkspaceError: Another process is writing, or rows are damaged; then nothing was changed.
    """
    with WriterLock(layout.lock, command="tunegraph doctor --repair"):
        yield from _mend_rows(layout)
        if fault := vector_fault(layout):
            _forget_vectors(layout)
            yield f"the vectors are made again ({fault})"
        yield from _mend_graph(layout)
        yield from _pin_text_model(layout, cache)


def _mend_rows(layout: WorkspaceFiles) -> Iterator[str]:
    if not (faults := file_faults(layout)):
        return
    if not is_lost(faults):
        with TrialStore(layout.trials) as trials:
            trials.file.write("REINDEX")
            mark_copied_devices(trials, trials.operators())
        if not (faults := file_faults(layout)):
            yield f"the indexes of {layout.trials} are made again from its rows, whose digests agree"
            return
    raise WorkspaceError(f"{layout.trials} cannot be repaired: {'; '.join(faults[:3])}", hint=RESTORE)


def _mend_graph(layout: WorkspaceFiles) -> Iterator[str]:
    fault = live_fault(layout, deep=True)
    if fault and layout.live.exists():
        aside = name_aside(layout.live, "damaged")
        layout.live.rename(aside)
        yield f"the graph is made again from the batches ({fault}); what was there is now {aside}"
    elif fault:
        yield f"the graph is made again from the batches ({fault})"
    current = layout.graph / "CURRENT"
    is_unpublished = bool(published_fault(layout, deep=True))
    if is_unpublished and current.exists():
        current.rename(name_aside(current, "damaged"))
    if fault:
        layout.graph.mkdir(exist_ok=True)
        make_graph(layout)
    elif is_unpublished:
        yield "the published graph is made again from the live one"


def _pin_text_model(layout: WorkspaceFiles, cache: Path) -> Iterator[str]:
    """Note the digests of a text model that is sound by itself; vectors of other files are made again."""
    manifest = layout.read()
    name, pinned = manifest.get("encoder"), manifest.get(PINNED)
    model = OnnxTextEncoder(cache, name) if isinstance(name, str) else None
    if model is None or model.manifest is None or model.verify() or pinned == model.manifest.files:
        return
    if pinned is not None:
        _forget_vectors(layout)
        if layout.texts.exists():
            layout.texts.rename(name_aside(layout.texts, "damaged"))
        yield f"the text model {name} is another file now: the vectors are made again with it"
    layout.write({**manifest, PINNED: model.manifest.files})


def _forget_vectors(layout: WorkspaceFiles) -> None:
    with TrialStore(layout.trials) as trials:
        forget(trials.file)
