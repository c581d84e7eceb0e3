"""The content of a file, read once from front to back: unpacked, hashed and bounded on the way."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

GZIP = b"\x1f\x8b"
CHUNK = 1 << 20
PACKED_CHUNK = 1 << 16
MAXIMUM_LINE = 16 << 20
"""A line longer than this is no record; it is passed over without being held."""
MAXIMUM_EXPANSION = 250
"""Times by which a file may grow when unpacked, beyond ``FREE_EXPANSION``. Real ones grow 5 to 60 times."""
FREE_EXPANSION = 256 << 20


class ContentError(ValueError):
    """The rest of the file cannot be read; the message says why."""


class Content:
    """Bytes of one file. Use as a context manager; read by one of its methods, once.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path, *, on_progress: Callable[[int], None] | None = None) -> None:
        self.path = path
        self._hash = hashlib.sha256()
        self._on_progress = on_progress
        self._disk: IO[bytes] | None = None
        self._pieces: Iterator[bytes] = iter(())
        self._position = 0
        self._unpacked = 0

    def __enter__(self) -> Content:
        self._disk = self.path.open("rb")
        self._pieces = unpack(self._disk)
        return self

    def __exit__(self, *_: object) -> None:
        if self._disk is not None:
            self._disk.close()

    @property
    def reference(self) -> str:
        """Name of the file alone: its name as a source, wherever and in whose folder it lies."""
        return self.path.name

    def chunks(self) -> Iterator[bytes]:
        """The content in pieces of at most a mebibyte.

        Raises:
            ContentError: A damaged or truncated gzip file, one that grows beyond reason, or a failing disk.
        """
        disk = self._disk
        if disk is None:
            raise ContentError("not open")
        for chunk in self._pieces:
            self._unpacked += len(chunk)
            position = disk.tell()
            if self._unpacked > FREE_EXPANSION and self._unpacked > MAXIMUM_EXPANSION * position:
                raise ContentError(f"grows more than {MAXIMUM_EXPANSION} times when unpacked: refused")
            self._hash.update(chunk)
            if self._on_progress is not None:
                self._on_progress(position - self._position)
            self._position = position
            yield chunk

    def lines(self, longest: int = MAXIMUM_LINE) -> Iterator[tuple[int, bytes | None]]:
        """Lines with their numbers from 1, without line ends; None for one longer than told.

        Raises:
            ContentError: As for ``chunks``; the lines before are complete.
        """
        number = 0
        rest = b""
        too_long = False
        for chunk in self.chunks():
            first, *others = chunk.split(b"\n")
            if not others:
                too_long = too_long or len(rest) + len(first) > longest
                rest = b"" if too_long else rest + first
                continue
            number += 1
            yield number, None if too_long or len(rest) + len(first) > longest else rest + first
            rest, too_long = others.pop(), False
            for line in others:
                number += 1
                yield number, line
        if rest or too_long:
            yield number + 1, None if too_long else rest

    def read_all(self, limit: int) -> bytes:
        """The complete content.

        Raises:
            ContentError: Longer than ``limit`` bytes, or as for ``chunks``.
        """
        pieces = []
        length = 0
        for chunk in self.chunks():
            length += len(chunk)
            if length > limit:
                raise ContentError(f"longer than {limit >> 20} MiB, which no file of this format is")
            pieces.append(chunk)
        return b"".join(pieces)

    def digest(self) -> str:
        """SHA-256 of the unpacked content in hexadecimal, after reading what is left of it."""
        try:
            for _ in self.chunks():
                pass
        except ContentError:
            pass
        return self._hash.hexdigest()


def unpack(disk: IO[bytes]) -> Iterator[bytes]:
    """The content of an open file in pieces; of a gzip file, what it unpacks to.

    Raises:
        ContentError: The data break off or are damaged, after everything before that place.
    """
    packed = disk.read(len(GZIP)) == GZIP
    disk.seek(0)
    if packed:
        yield from _unzipped(disk)
        return
    while chunk := _next(disk, CHUNK):
        yield chunk


def _unzipped(disk: IO[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(wbits=31)
    while data := _next(disk, PACKED_CHUNK):
        while data:
            if unpacker.eof:  # another member follows, or the padding of a tape
                data = data.lstrip(b"\x00")
                unpacker = zlib.decompressobj(wbits=31)
            before = unpacker.copy()
            try:
                piece = unpacker.decompress(data, CHUNK)
            except zlib.error as fault:
                yield _salvaged(before, data)
                raise ContentError(f"damaged gzip ({fault})") from fault
            data = unpacker.unconsumed_tail or unpacker.unused_data
            if piece:
                yield piece
    if not unpacker.eof and (rest := unpacker.flush()):
        yield rest
    if not unpacker.eof:
        raise ContentError("truncated: the gzip data break off")


def _salvaged(unpacker: zlib._Decompress, data: bytes) -> bytes:
    """The readable start of a damaged block, unpacked in small pieces up to the damage."""
    pieces = []
    for start in range(0, len(data), 16):
        try:
            pieces.append(unpacker.decompress(data[start : start + 16]))
        except zlib.error:
            break
    return b"".join(pieces)


def _next(disk: IO[bytes], size: int) -> bytes:
    try:
        return disk.read(size)
    except OSError as fault:
        raise ContentError(f"cannot be read further ({fault.strerror or fault})") from fault
