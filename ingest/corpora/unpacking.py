"""Files out of an archive from the network: plain files below one folder, and no more bytes than expected."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ingest.corpora.corpus import is_plain
from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
