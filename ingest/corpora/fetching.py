"""A corpus fetched into a folder: every file there and as the catalogue says, or none is handed on."""

from __future__ import annotations

import hashlib
import shutil
from typing import TYPE_CHECKING
from urllib.parse import quote

from ingest.corpora.corpus import MAXIMUM_BYTES
from ingest.corpora.download import download
from ingest.corpora.unpacking import unpack
from kg.errors import InputError, WorkspaceError
from kg.whole_files import sha256_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ingest.corpora.corpus import Corpus


def fetch(corpus: Corpus, folder: Path, on_progress: Callable[[int], None] = lambda _: None) -> Path:
    """Fetch what is missing of a corpus and check all of it; return the folder that its paths start from.

    Args:
        corpus: What to fetch.
        folder: Where to; what an earlier attempt left there is gone on with.
        on_progress: Called with the bytes that came since its last call.

    Raises:
        InputError: Something arrived that is not what the catalogue says; it was dropped.
        FetchError: Something did not arrive; what did stays for the next attempt.
        WorkspaceError: The folder cannot be written to.
    """
    files = folder / "files"
    try:
        if corpus.files:
            _fetch_files(corpus, files, on_progress)
        else:
            _fetch_archive(corpus, folder, files, on_progress)
    except OSError as error:
        raise WorkspaceError(f"{folder} cannot be written: {error.strerror or error}") from None
    return files


def _fetch_files(corpus: Corpus, files: Path, on_progress: Callable[[int], None]) -> None:
    left = corpus.size_bytes
    for path, digest in corpus.files.items():
        file = files / path
        address = corpus.address + quote(path)
        if not file.is_file():
            download(address, file, most_bytes=left, on_progress=on_progress)
        else:
            on_progress(file.stat().st_size)
        found = sha256_of(file)
        if found != digest:
            file.unlink()
            raise _differing(corpus, address, found, digest)
        left -= file.stat().st_size


def _fetch_archive(corpus: Corpus, folder: Path, files: Path, on_progress: Callable[[int], None]) -> None:
    archive = folder / "archive.tar.gz"
    if not archive.is_file():
        download(corpus.address, archive, most_bytes=MAXIMUM_BYTES, on_progress=on_progress)
    shutil.rmtree(files, ignore_errors=True)
    try:
        paths = sorted(unpack(archive, files, corpus.take, most_bytes=corpus.size_bytes))
        lines = "".join(f"{sha256_of(files / path)}  {path}\n" for path in paths)
        found = hashlib.sha256(lines.encode()).hexdigest()
        if found != corpus.digest:
            raise _differing(corpus, corpus.address, found, corpus.digest)
    except InputError:
        shutil.rmtree(files, ignore_errors=True)
        archive.unlink()
        raise


def _differing(corpus: Corpus, address: str, found: str, digest: str) -> InputError:
    return InputError(
        f"{address}: SHA-256 {found[:12]}... is not the {digest[:12]}... of {corpus.id}: dropped",
        hint="nothing was taken in; who publishes it may have changed it",
    )
