"""Public corpora into a workspace: fetched, checked, and taken in as one batch that bears their name."""

from __future__ import annotations

import math
import shutil
from typing import TYPE_CHECKING

from ingest.corpora.fetching import fetch
from ingest.door.context import Publication
from kg.errors import WorkspaceError
from kg.lock import WriterLock
from recommender.store.ingestion import Options

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ingest.corpora.corpus import Corpus
    from recommender.store.editor import Editor
    from recommender.store.ingestion import IngestSummary

ALL_ROWS = 1 << 62
"""Rows of a batch that is closed when all is read."""


def pull(
    corpus: Corpus,
    folder: Path,
    edit: Callable[[], Editor],
    on_fetch: Callable[[int], None],
    on_read: Callable[[int], None] | None,
) -> IngestSummary:
    """Fetch a corpus into a folder, check it, take it in, and remove the folder.

    Args:
        corpus: What to fetch.
        folder: Where to; what an earlier attempt left there is gone on with.
        edit: Gives the writing side of the workspace, once all has arrived.
        on_fetch: Called with the bytes that arrived since its last call.
        on_read: Called with the bytes that were read since its last call; None for nobody.

    Raises:
        InputError: What arrived is not what the catalogue says.
        FetchError: It did not arrive.
        WorkspaceError: Another process fetches it or writes, or it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkspaceError(f"{folder} cannot be made: {error.strerror}") from None
    with WriterLock(folder / "lock", command=f"kb pull {corpus.id}"):
        files = fetch(corpus, folder, on_fetch)
        publication = Publication(
            folder=files, url=corpus.source, commit=corpus.commit, licence=corpus.licence
        )
        options = Options(publication=publication, origin=corpus.id, mark=corpus.mark)
        with edit() as editor:
            summary = editor.ingest(
                [files], on_progress=on_read, batch_rows=ALL_ROWS, batch_s=math.inf, options=options
            )
        shutil.rmtree(folder, ignore_errors=True)
    return summary
