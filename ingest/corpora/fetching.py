"""A corpus fetched into a folder: every file there and as the catalogue says, or none is handed on."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import quote

from ingest.corpora.corpus import MAXIMUM_BYTES, Corpus, is_plain
from ingest.corpora.download import download
from kg.errors import InputError, WorkspaceError
from kg.whole_files import sha256_of


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


CHUNK = 1 << 18
HEADER_BYTES = 1 << 20
"""What the headers between two members may take; a real one takes 1,536."""
MAXIMUM_UNPACKED_BYTES = 8 << 30
"""What is read of an archive at most, taken out or not: the largest of the catalogue unpacks to 0.4 GB."""


def unpack(archive: Path, folder: Path, take: tuple[str, ...], *, most_bytes: int) -> Iterator[str]:
    """Write the members that ``take`` names into a folder; yield their paths.

    The first name of each member's path, the archive's own folder, is left out.

    Args:
        archive: A tar file packed with gzip.
        folder: Where to; made if it does not exist.
        take: Patterns of paths, in which ``*`` stands for any part of one name.
        most_bytes: What the members may have together.

    Raises:
        InputError: It is no such archive, or one of those members is a link, lies outside or is too large.
        OSError: The folder cannot be written to.
    """
    try:
        with gzip.open(archive) as unpacked:
            stream = _Bounded(unpacked)
            with tarfile.open(fileobj=stream, mode="r|") as members:  # type: ignore[call-overload]
                yield from _taken(members, stream, folder, take, most_bytes)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeError, _TooLongError) as error:
        raise InputError(f"{archive.name}: no whole archive ({error})") from None


class _TooLongError(ValueError):
    """The archive is longer than any archive of the catalogue."""


class _Bounded:
    """A stream that may be read so far as is allowed.

    Attributes:
        left: Bytes that may be read up to the next member.
    """

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream
        self._total = 0
        self.left = HEADER_BYTES

    def read(self, size: int) -> bytes:
        """Read on."""
        chunk = self._stream.read(size)
        self.left -= len(chunk)
        self._total += len(chunk)
        if self.left < 0 or self._total > MAXIMUM_UNPACKED_BYTES:
            raise _TooLongError("longer than it says")
        return chunk


def _taken(
    members: tarfile.TarFile, stream: _Bounded, folder: Path, take: tuple[str, ...], most_bytes: int
) -> Iterator[str]:
    left = most_bytes
    for member in members:
        stream.left = member.size + HEADER_BYTES
        path = member.name.partition("/")[2]
        if member.isdir() or not any(matches(path, pattern) for pattern in take):
            continue
        if not is_plain(member.name) or not member.isreg():
            raise InputError(f"{member.name[:200]!r} in the archive is no plain file below its folder")
        left -= member.size
        content = members.extractfile(member)
        if left < 0 or content is None:
            raise InputError(f"the archive holds more than the {most_bytes:,} bytes expected")
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("xb") as file:
            while chunk := content.read(CHUNK):
                file.write(chunk)
        yield path


def matches(path: str, pattern: str) -> bool:
    """Whether a path is one of a pattern: name by name."""
    names, parts = path.split("/"), pattern.split("/")
    return len(names) == len(parts) and all(map(fnmatchcase, names, parts))
