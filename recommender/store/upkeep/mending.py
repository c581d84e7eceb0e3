"""Damaged parts of a workspace made again from sound ones; what cannot be is left alone and said.

The live graph is made from the published one or the other way round, indexes of the trial store from its
rows, and vectors from the graph. What is replaced is renamed, never deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from embeddings.text_encoder import OnnxTextEncoder
from embeddings.vector_log import VectorLog, read_header
from kg.errors import WorkspaceError
from kg.lock import WriterLock
from kg.rows import seals
from kg.rows.trials import TrialStore
from kg.triples.finders import batch_records
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.snapshots import newest
from recommender.files import PINNED, WorkspaceFiles
from recommender.store.upkeep.checkup import (
    RESTORE,
    file_faults,
    graph_fault,
    live_fault,
    published_fault,
    row_faults,
    vector_faults,
)
from recommender.store.upkeep.marks import Marks


def mend(layout: WorkspaceFiles, cache: Path) -> Iterator[str]:
    """Make damaged parts again from sound ones, and say what was done.

    Vectors are only put aside here: the writer that follows makes them.

    Args:
        layout: The workspace.
        cache: The user's cache directory, where text models are.

    Raises:
        WorkspaceError: Another process is writing, or something is damaged that nothing here can restore;
            then neither graph nor rows were changed.
    """
    with WriterLock(layout.lock, command="tunegraph doctor --repair"):
        yield from _mend_graph(layout)
        yield from _mend_rows(layout)
        yield from _put_vectors_aside(layout)
        yield from _pin_text_model(layout, cache)


def _mend_graph(layout: WorkspaceFiles) -> Iterator[str]:
    fault = live_fault(layout, deep=True)
    marks = None if fault else _marks(layout, layout.live)
    if marks is not None and (marks.only_rows_ahead or not any(marks.contradictions())):
        if published_fault(layout, deep=True):
            current = layout.graph / "CURRENT"
            if current.exists():
                current.rename(_free_name(current))
            yield "the published graph is made again from the live one"
        yield from _set_rows_aside(layout, marks)
        return
    source = newest(layout.graph)
    reason = fault if marks is None else "; ".join(marks.contradictions())
    found = "" if source is None else graph_fault(source, deep=True)
    if source is None or found:
        also = f"the published one too: {found}" if found else "there is no published graph"
        raise WorkspaceError(f"the live graph cannot be repaired: {reason}; {also}", hint=RESTORE)
    marks = _marks(layout, source)
    if any(marks.contradictions()) and not marks.only_rows_ahead:
        raise WorkspaceError(
            f"cannot be repaired, no graph here fits the rows: {'; '.join(marks.contradictions())}",
            hint=f"nothing was changed; {RESTORE}",
        )
    draft = layout.graph / "live.new"
    if draft.exists():
        draft.rename(_free_name(draft))
    with OxigraphStore(source, read_only=True) as sound, OxigraphStore(draft) as copy:
        copy.bulk_extend(sound.triples())
        copy.flush()
    aside = _free_name(layout.live)
    if layout.live.exists():
        layout.live.rename(aside)
    draft.rename(layout.live)
    yield f"the live graph is made again from {source} ({reason}); what was there is now {aside}"
    yield from _set_rows_aside(layout, marks)


def _set_rows_aside(layout: WorkspaceFiles, marks: Marks) -> Iterator[str]:
    """Move rows that the graph never acknowledged to the quarantine, as after a loss of power."""
    if not marks.rows_ahead:
        return
    with TrialStore(layout.trials) as trials:
        seals.prepare(trials.file)
        last = max(seals.newest_row(trials.file), marks.noted or 0)
        moved = seals.sweep(trials.file, marks.graph, acknowledged=True)
    yield (
        f"{moved:,} rows of batches {marks.graph + 1} to {last}, which the graph does not acknowledge, lie in"
        f" the quarantine of {layout.trials.name} now; ingest their files again"
    )


def _mend_rows(layout: WorkspaceFiles) -> Iterator[str]:
    if not (faults := file_faults(layout)):
        return
    with OxigraphStore(layout.live, read_only=True) as graph:
        records = batch_records(graph)
    wrong = row_faults(layout, records)
    if wrong or not all(record.seal for record in records.values()) or "configuration" in "".join(faults):
        raise WorkspaceError(
            f"{layout.trials} cannot be repaired: {'; '.join([*wrong, *faults][:3])}", hint=RESTORE
        )
    with TrialStore(layout.trials) as trials:
        trials.file.write("REINDEX")
    if left := file_faults(layout):
        raise WorkspaceError(f"{layout.trials} cannot be repaired: {'; '.join(left[:3])}", hint=RESTORE)
    yield f"the indexes of {layout.trials} are made again from its rows, whose seals agree"


def _put_vectors_aside(layout: WorkspaceFiles) -> Iterator[str]:
    if not layout.vectors.exists():
        return
    faults = vector_faults(layout)
    if not faults:
        with OxigraphStore(layout.live, read_only=True) as graph:
            newest_batch = max(batch_records(graph), default=0)
        faults = _vectors_ahead(layout, newest_batch)
    if faults:
        aside = _free_name(layout.vectors)
        layout.vectors.rename(aside)
        yield f"the vectors are made again ({'; '.join(faults)}); what was there is now {aside}"


def _pin_text_model(layout: WorkspaceFiles, cache: Path) -> Iterator[str]:
    """Note the digests of a text model that is sound by itself; vectors of other files are made again."""
    manifest = layout.read()
    name, pinned = manifest.get("encoder"), manifest.get(PINNED)
    model = OnnxTextEncoder(cache, name) if isinstance(name, str) else None
    if model is None or model.manifest is None or model.verify() or pinned == model.manifest.files:
        return
    if pinned is not None:
        for path in (layout.vectors, layout.texts):
            if path.exists():
                path.rename(_free_name(path))
        yield f"the text model {name} is another file now: the vectors are made again with it"
    layout.write({**manifest, PINNED: model.manifest.files})


def _vectors_ahead(layout: WorkspaceFiles, batch: int) -> list[str]:
    header = read_header(layout.vectors)
    log = VectorLog(layout.vectors, int(str(header["dimension"])), str(header["encoder"]), read_only=True)
    try:
        last = log.batch(len(log) - 1) if len(log) else 0
    finally:
        log.close()
    return [f"vectors of batch {last}, the graph ends with batch {batch}"] if last > batch + 1 else []


def _marks(layout: WorkspaceFiles, folder: Path) -> Marks:
    with OxigraphStore(folder, read_only=True) as graph, TrialStore(layout.trials, read_only=True) as trials:
        return Marks.read(layout, graph, trials)


def _free_name(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    return aside
