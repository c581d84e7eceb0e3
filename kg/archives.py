"""Bounds on packed files: each byte is counted against what is declared and what is allowed."""

from __future__ import annotations

import gzip
import lzma
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kg.errors import InputError

GZIP = b"\x1f\x8b"
CHUNK = 1 << 20
PACKED_CHUNK = 1 << 16
MAXIMUM_EXPANSION = 250
"""Times by which gzip may grow when unpacked, beyond ``FREE_EXPANSION``. Real files grow 5 to 60 times."""
FREE_EXPANSION = 256 << 20
HEADER_BYTES = 1 << 20
"""Most bytes of headers between two members of a tar file; a real one takes 1,536."""
MOST_DEPTH = 64
"""Folders in each other; a choice."""
MOST_ARRAY_BYTES = 1 << 30
"""Most bytes of all arrays of a file; ours take a hundredth of it."""

_DAMAGE = (
    tarfile.TarError, zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError, gzip.BadGzipFile,
    NotImplementedError, EOFError, UnicodeError,
)  # fmt: skip


class UnpackError(InputError):
    """The rest of a packed file cannot be read; the message says why."""


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def pieces(disk: IO[bytes]) -> Iterator[bytes]:
    """The content of an open file in pieces of at most a mebibyte; of a gzip file, what it unpacks to.

    Raises:
        UnpackError: The data break off, are damaged or grow beyond reason; all before that place came.
    """
    packed = disk.read(len(GZIP)) == GZIP
    disk.seek(0)
    size = 0
    for piece in _unzipped(disk) if packed else iter(lambda: _next(disk, CHUNK), b""):
        size += len(piece)
        if size > FREE_EXPANSION and size > MAXIMUM_EXPANSION * disk.tell():
            raise UnpackError(f"grows more than {MAXIMUM_EXPANSION} times when unpacked: refused")
        yield piece


def gunzip(path: Path) -> bytes:
    """All that a gzip file of ours unpacks to.

    Raises:
        UnpackError: It is damaged, or grows beyond reason.
        OSError: It cannot be read.
    """
    with path.open("rb") as disk:
        if disk.read(len(GZIP)) != GZIP:
            raise UnpackError("no gzip")
        disk.seek(0)
        return b"".join(pieces(disk))


def arrays(source: Path | IO[bytes]) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz`` file, none of them of objects.

    Raises:
        ValueError: It is damaged, or an array declares more than is there or allowed.
        OSError: It cannot be read.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            room = MOST_ARRAY_BYTES
            for item in archive.infolist():  # zipfile reads no more of a member than it declares
                room -= item.file_size
                with archive.open(item) as stream:
                    version = np.lib.format.read_magic(stream)
                    reader = np.lib.format.read_array_header_1_0
                    shape, _, kind = (reader if version == (1, 0) else np.lib.format.read_array_header_2_0)(
                        stream
                    )
                if (
                    room < 0
                    or kind.hasobject
                    or np.prod(shape, dtype=object) * kind.itemsize > item.file_size
                ):
                    raise UnpackError(f"{item.filename[:60]!r} is larger than it may be")
        if not isinstance(source, Path):
            source.seek(0)
        with np.load(source, allow_pickle=False) as file:
            return dict(file)
    except (*_DAMAGE, RuntimeError) as fault:
        raise UnpackError(f"damaged: {fault}") from None


def unpack_tar(
    stream: _Readable,
    folder: Path,
    place: Callable[[str], str | None],
    *,
    most_bytes: int,
    durable: bool = False,
) -> Iterator[str]:
    """Write members of a tar archive into a folder; yield their paths in it.

    Args:
        stream: The archive, unpacked; no more of it is read than its members declare.
        folder: Where to; made if it does not exist.
        place: A member's path below ``folder`` by its name; None leaves it out.
        most_bytes: What the members may have together.
        durable: Wait for the disk after each.

    Raises:
        InputError: It is no archive, or a member is a link, sparse, outside of the folder or too large.
        OSError: The folder cannot be written to.
    """
    bounded, room = _Bounded(stream), most_bytes
    try:
        with tarfile.open(fileobj=bounded, mode="r|") as members:  # type: ignore[call-overload]
            for member in members:
                bounded.left = member.size + HEADER_BYTES
                if member.isdir() or (path := place(member.name)) is None:
                    continue
                content = None if member.issparse() or not member.isreg() else members.extractfile(member)
                if content is None or not _is_inside(member.name):
                    raise InputError(
                        f"{member.name[:200]!r} in the archive is no plain file below its folder"
                    )
                room -= member.size
                if room < 0:
                    raise InputError(f"the archive holds more than the {most_bytes:,} bytes expected")
                _write(content, folder / path, durable=durable)
                yield path
    except _DAMAGE as fault:
        raise UnpackError(f"no whole archive ({fault})") from None


class _Bounded:
    """A stream of which a bounded part is read before the next member."""

    def __init__(self, stream: _Readable) -> None:
        self._stream = stream
        self.left = HEADER_BYTES

    def read(self, size: int) -> bytes:
        """Read the next bytes."""
        chunk = self._stream.read(size)
        self.left -= len(chunk)
        if self.left < 0:
            raise UnpackError("no whole archive (longer than it says)")
        return chunk


def unpack_zip(path: Path, folder: Path, *, most_bytes: int, most_files: int) -> int:
    """Write the files of a ZIP archive into a folder; return how many.

    Raises:
        InputError: It is damaged, encrypted or too large, or has a file outside of itself.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            files = [item for item in archive.infolist() if not item.is_dir()]
            if len(files) > most_files:
                raise InputError(f"{path.name}: {len(files)} files; {most_files} are taken")
            if sum(item.file_size for item in files) > most_bytes:
                raise InputError(f"{path.name}: the archive unpacks to more than {most_bytes >> 20} MiB")
            for item in files:
                if not _is_inside(item.filename):
                    where = f"outside of itself, or too deep: {item.filename[:60]!r}"
                    raise InputError(f"the archive has a file {where}")
                try:
                    with archive.open(item) as source:
                        _write(source, folder / item.filename)
                except OSError as fault:
                    reason = fault.strerror or str(fault)
                    said = f"the archive cannot be unpacked at {item.filename[:60]!r}: {reason}"
                    raise InputError(said) from None
    except RuntimeError as fault:  # what zipfile raises where a password is needed
        if isinstance(fault, NotImplementedError):
            raise UnpackError(f"{path.name}: a damaged archive ({fault})") from None
        raise InputError(f"{path.name}: an encrypted archive", hint="pack it without a password") from None
    except (*_DAMAGE, ValueError) as fault:
        if isinstance(fault, InputError):
            raise
        raise UnpackError(f"{path.name}: a damaged archive ({fault})") from None
    return len(files)


def _is_inside(name: str) -> bool:
    parts = name.split("/")
    is_plain = not any(part in {"", ".", ".."} for part in parts) and not {"\0", "\\"} & set(name)
    return is_plain and ":" not in parts[0] and len(parts) <= MOST_DEPTH


def _write(source: IO[bytes], target: Path, *, durable: bool = False) -> None:
    """Write a member to a new file; zipfile and tarfile give no more of one than it declares."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as file:
        shutil.copyfileobj(source, file, CHUNK)
        if durable:
            file.flush()
            os.fsync(file.fileno())


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
                raise UnpackError(f"damaged gzip ({fault})") from fault
            data = unpacker.unconsumed_tail or unpacker.unused_data
            if piece:
                yield piece
    if not unpacker.eof and (rest := unpacker.flush()):
        yield rest
    if not unpacker.eof:
        raise UnpackError("truncated: the gzip data break off")


def _salvaged(unpacker: zlib._Decompress, data: bytes) -> bytes:
    """The readable start of a damaged block, unpacked in small pieces up to the damage."""
    found = []
    for start in range(0, len(data), 16):
        try:
            found.append(unpacker.decompress(data[start : start + 16]))
        except zlib.error:
            break
    return b"".join(found)


def _next(disk: IO[bytes], size: int) -> bytes:
    try:
        return disk.read(size)
    except OSError as fault:
        raise UnpackError(f"cannot be read further ({fault.strerror or fault})") from fault
