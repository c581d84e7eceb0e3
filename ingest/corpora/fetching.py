"""A corpus fetched into a folder: every file there and as the catalogue says, or none is handed on."""

import gzip
import hashlib
import re
import shutil
import ssl
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request

from ingest.corpora.corpus import MAXIMUM_BYTES, Corpus
from kg.archives import UnpackError, unpack_tar
from kg.atomic_files import sha256_of
from kg.errors import FetchError, InputError, WorkspaceError
from kg.web import is_safe, send

CHUNK = 1 << 18
TIMEOUT_S = 30.0
AGENT = "tunegraph kb pull"

_NETWORK = (HTTPError, URLError, HTTPException, TimeoutError, ConnectionError, ssl.SSLError)
_AGAIN = "the same command again goes on from there"
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


def download(
    address: str,
    path: Path,
    *,
    most_bytes: int,
    on_progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Fetch a file; it has its name once all of it is there.

    Args:
        address: Where it is published.
        path: The file to write.
        most_bytes: What it may be long.
        on_progress: Called with the bytes that came since its last call.

    Raises:
        InputError: The address is none to fetch from, or more bytes come than may.
        FetchError: It does not answer, has moved, or broke off.
        WorkspaceError: It cannot be written.
    """
    if not is_safe(address):
        raise InputError(f"{address}: not fetched, since it is not https")
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        has = part.stat().st_size if part.is_file() else 0
        with _opened(address, f"{has}-" if has else "") as reply:
            start, total = _extent(reply, has, most_bytes)
            on_progress(start)
            with part.open("r+b" if start else "wb") as stream:
                stream.seek(start)
                stream.truncate()
                length = _receive(reply, stream, address, start, most_bytes, on_progress)
        if total is not None and length < total:
            raise FetchError(f"{address}: broke off after {length:,} of {total:,} bytes", hint=_AGAIN)
        part.replace(path)
    except InputError:
        part.unlink(missing_ok=True)
        raise
    except _NETWORK as error:
        if isinstance(error, HTTPError) and error.code == 416:  # nothing is left to send: not this file
            part.unlink(missing_ok=True)
        raise _unfetched(address, error) from None
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be written: {error.strerror or error}") from None


def _unfetched(address: str, error: Exception) -> FetchError:
    if isinstance(error, HTTPError):
        return FetchError(f"{address}: {_reason(error)}", hint=_hint(error))
    reason = getattr(error, "reason", None) or str(error) or type(error).__name__
    return FetchError(f"{address}: does not arrive ({reason})", hint=_AGAIN)


def _receive(
    reply: Any, stream: Any, address: str, start: int, most_bytes: int, on_progress: Callable[[int], None]
) -> int:
    length = start
    while chunk := reply.read1(CHUNK):
        length += len(chunk)
        if length > most_bytes:
            raise InputError(f"{address}: more than the {most_bytes:,} bytes expected")
        stream.write(chunk)
        on_progress(len(chunk))
    return length


def _opened(address: str, span: str) -> Any:
    """The reply of a server; a redirect is an error, since the catalogue says where a file is."""
    request = Request(address, headers={"User-Agent": AGENT, "Accept-Encoding": "identity"})  # noqa: S310  checked
    if span:
        request.add_header("Range", f"bytes={span}")
    return send(request, timeout_s=TIMEOUT_S)


def _extent(reply: Any, has: int, most_bytes: int) -> tuple[int, int | None]:
    """The start of the reply, and the length of the file; a server without ranges sends all of it.

    Raises:
        InputError: The file is longer than it may be.
        URLError: The reply is of another part than the one asked for.
    """
    start, total = _stated(reply, has)
    if (total or 0) > most_bytes:
        raise InputError(f"{reply.url}: {total:,} bytes, more than the {most_bytes:,} expected")
    return start, total


def _stated(reply: Any, has: int) -> tuple[int, int | None]:
    found = _RANGE.fullmatch(reply.headers.get("Content-Range") or "") if reply.status == 206 else None
    if found is not None and int(found[1]) == has:
        return has, int(found[2]) if found[2].isdecimal() else None
    length = reply.headers.get("Content-Length")
    if reply.status == 206:
        raise URLError("an answer of another range than asked for")
    return 0, int(length) if length and length.isdecimal() else None


def _reason(error: HTTPError) -> str:
    if error.code in {404, 410}:
        return f"nothing is there any more (HTTP {error.code})"
    if 300 <= error.code < 400:
        return f"moved to {error.headers.get('Location') or 'elsewhere'} (HTTP {error.code})"
    return f"refused (HTTP {error.code} {error.reason})"


def _hint(error: HTTPError) -> str:
    if error.code == 416:
        return "what had arrived was dropped; the same command again starts anew"
    if error.code in {404, 410} or 300 <= error.code < 400:
        return "nothing was taken in; give the new address in a catalogue of your own with --catalogue"
    return "nothing was taken in; try later"


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

    def place(name: str) -> str | None:
        path = name.partition("/")[2]
        return path if any(matches(path, pattern) for pattern in take) else None

    try:
        with gzip.open(archive) as unpacked:
            yield from unpack_tar(unpacked, folder, place, most_bytes=most_bytes)
    except UnpackError as error:
        raise InputError(f"{archive.name}: {error}") from None


def matches(path: str, pattern: str) -> bool:
    """True if a path matches a pattern, name by name."""
    names, parts = path.split("/"), pattern.split("/")
    return len(names) == len(parts) and all(map(fnmatchcase, names, parts))
