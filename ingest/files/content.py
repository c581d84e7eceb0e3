"""The content of a file, read once from front to back: unpacked, hashed and bounded on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from kg.archives import UnpackError, pieces

MAXIMUM_LINE = 16 << 20
"""A line longer than this is no record; it is passed over without being held."""


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
        self._pieces = pieces(self._disk)
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
        try:
            for chunk in self._pieces:
                self._unpacked += len(chunk)
                position = disk.tell()
                self._hash.update(chunk)
                if self._on_progress is not None:
                    self._on_progress(position - self._position)
                self._position = position
                yield chunk
        except UnpackError as fault:
            raise ContentError(str(fault)) from fault

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
        found = []
        length = 0
        for chunk in self.chunks():
            length += len(chunk)
            if length > limit:
                raise ContentError(f"longer than {limit >> 20} MiB, which no file of this format is")
            found.append(chunk)
        return b"".join(found)

    def digest(self) -> str:
        """SHA-256 of the unpacked content in hexadecimal, after reading what is left of it."""
        try:
            for _ in self.chunks():
                pass
        except ContentError:
            pass
        return self._hash.hexdigest()
