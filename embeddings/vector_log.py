"""The vectors of a workspace, append-only.

A header of 4096 bytes (JSON: format, dimension, encoder hash), then records of one size: problem
key (int64), batch (uint32), checksum (uint32, CRC-32 of key, batch and vector; 0 where there is none),
vector (float32), little-endian. A row's number is its place. Batches never decrease, so the rows of
acknowledged batches are a prefix, and sweeping is cutting off a tail.

Format 1 had the batch in eight bytes and no checksum; its records read the same. The next writer rewrites
such a log with checksums.

A crash can leave part of a record at the end: readers do not see it, the next writer cuts it off.
Rows are read with ``pread``, not mapped: a writer that cuts the tail cannot take pages from a reader.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kg.errors import IndexMismatchError, WorkspaceError

HEADER_BYTES = 4096
_FORMAT = "tunegraph vector log 2"
_OLD_FORMAT = "tunegraph vector log 1"
_CHUNK_ROWS = 8192


class VectorLog:
    """An open vector log.

    Attributes:
        path: The file.
        dimension: Length of a vector.
        encoder_hash: What made the vectors.
    """

    def __init__(self, path: Path, dimension: int, encoder_hash: str, *, read_only: bool = False) -> None:
        """Open a log, or make an empty one.

        Args:
            path: The file; for a reader it may be missing, which reads as empty.
            dimension: Length of a vector.
            encoder_hash: What makes the vectors.
            read_only: Change nothing, not even a torn tail.

        Raises:
            IndexMismatchError: The file holds vectors of another encoder or dimension.
            WorkspaceError: The file is no vector log, or cannot be opened.
        """
        self.path = path
        self.dimension = dimension
        self.encoder_hash = encoder_hash
        self._read_only = read_only
        self._record = _record(dimension)
        self._file: int | None = None
        try:
            if not read_only and (not path.exists() or path.stat().st_size < HEADER_BYTES):
                write_log(path, dimension, encoder_hash, [])
            if path.exists():
                self._file = os.open(path, os.O_RDONLY if read_only else os.O_RDWR)
        except OSError as error:
            raise WorkspaceError(f"cannot open {path}: {error.strerror}") from error
        if self._file is not None:
            self._check_header()
        if not read_only:
            self._cut_torn_tail()
            if read_header(path)["format"] == _OLD_FORMAT:
                self._add_checksums()

    def __len__(self) -> int:
        """Count the complete records in the file; a writer elsewhere may add some at any time."""
        if self._file is None:
            return 0
        return max(0, os.fstat(self._file).st_size - HEADER_BYTES) // self._record.itemsize

    def visible(self, acknowledged: int | None) -> int:
        """Count the rows of batches up to and including ``acknowledged`` (None: all)."""
        low, high = 0, len(self)
        if acknowledged is None or high == 0 or self.batch(high - 1) <= acknowledged:
            return high
        while low < high:
            middle = (low + high) // 2
            if self.batch(middle) <= acknowledged:
                low = middle + 1
            else:
                high = middle
        return low

    def batch(self, row: int) -> int:
        """Return the batch of a row."""
        return int(np.frombuffer(self._read(row, 1, 12)[8:], dtype="<u4", count=1)[0])

    def keys(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return problem keys of rows, in their order, shape (n,)."""
        places = (HEADER_BYTES + rows.astype(np.int64) * self._record.itemsize).tolist()
        if self._file is None:
            if len(rows):
                raise self._too_short(int(rows[0]))
            return np.zeros(0, dtype=np.int64)
        read = [os.pread(self._file, 8, place) for place in places]
        for row, part in zip(rows.tolist(), read, strict=True):
            if len(part) < 8:
                raise self._too_short(row)
        return np.frombuffer(b"".join(read), dtype="<i8").astype(np.int64)

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return vectors of rows, in their order, shape (n, dimension)."""
        read = [self._read(int(row), 1) for row in rows]
        return np.ascontiguousarray(np.frombuffer(b"".join(read), dtype=self._record)["vector"])

    def rows(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Return keys, batches and vectors of rows ``start`` to ``stop``: (n,), (n,), (n, dimension)."""
        count = max(0, min(stop, len(self)) - start)
        records = np.frombuffer(self._read(start, count), dtype=self._record)
        return records["key"], records["batch"].astype(np.int64), np.ascontiguousarray(records["vector"])

    @property
    def remade(self) -> int:
        """Newest batch whose vectors were made again; 0 if none were."""
        number = read_header(self.path).get("remade", 0) if self.path.exists() else 0
        return number if isinstance(number, int) else 0

    def digest(self, batch: int) -> str:
        """Digest the records of a batch; empty if it has none."""
        start, stop = self.visible(batch - 1), self.visible(batch)
        digest = blake2b(digest_size=16)
        for at in range(start, stop, _CHUNK_ROWS):
            digest.update(self._read(at, min(_CHUNK_ROWS, stop - at)))
        return digest.hexdigest() if stop > start else ""

    def damaged(self) -> list[int]:
        """Return the rows whose bytes are not what was written; rows without a checksum count as intact."""
        found = []
        for start in range(0, len(self), _CHUNK_ROWS):
            records = np.frombuffer(
                self._read(start, min(_CHUNK_ROWS, len(self) - start)), dtype=self._record
            )
            differs = (records["check"] != 0) & (records["check"] != _checksums(records))
            found += (np.flatnonzero(differs) + start).tolist()
        return found

    def raw(self, row: int) -> bytes:
        """Return the bytes of one record."""
        return self._read(row, 1)

    def append(self, keys: NDArray[np.int64], batch: int, vectors: NDArray[np.float32]) -> None:
        """Add rows and wait until they are on the disk.

        Args:
            keys: Problem keys, shape (n,).
            batch: Number of the batch; not below that of any row there.
            vectors: Shape (n, dimension), finite.

        Raises:
            ValueError: Shapes, batch or values that do not fit; nothing was written.
            WorkspaceError: The file cannot be written; nothing was added.
        """
        if vectors.shape != (len(keys), self.dimension):
            raise ValueError(
                f"{len(keys)} keys and vectors of shape {vectors.shape}, dimension {self.dimension}"
            )
        if not np.isfinite(vectors).all():
            raise ValueError("a vector is not finite")
        if self._file is None or self._read_only:
            raise WorkspaceError(f"{self.path} is open for reading only")
        count = len(self)
        if count and self.batch(count - 1) > batch:
            raise ValueError(f"batch {batch} after batch {self.batch(count - 1)}")
        end = HEADER_BYTES + count * self._record.itemsize
        try:
            self._write(_pack(self._record, keys, batch, vectors), end)
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, end)
            raise WorkspaceError(f"cannot write {self.path}: {error.strerror}") from error

    def truncate(self, rows: int) -> None:
        """Keep only the first ``rows`` rows."""
        if self._file is None or self._read_only:
            raise WorkspaceError(f"{self.path} is open for reading only")
        if rows < len(self):
            os.ftruncate(self._file, HEADER_BYTES + rows * self._record.itemsize)
            os.fsync(self._file)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _check_header(self) -> None:
        header = read_header(self.path)
        identity = header.get("encoder"), header.get("dimension")
        if identity != (self.encoder_hash, self.dimension):
            raise IndexMismatchError(
                f"{self.path} was made by encoder {identity[0]} (dimension {identity[1]}), "
                f"not by {self.encoder_hash} (dimension {self.dimension})",
                hint="make the vectors anew with: tunegraph doctor --repair",
            )

    def _add_checksums(self) -> None:
        """Rewrite a log of format 1 with checksums; readers keep the file that they have open."""

        def parts() -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]]:
            for start in range(0, len(self), _CHUNK_ROWS):
                yield self.rows(start, start + _CHUNK_ROWS)

        try:
            write_log(self.path, self.dimension, self.encoder_hash, parts())
            self.close()
            self._file = os.open(self.path, os.O_RDWR)
        except OSError as error:
            raise WorkspaceError(f"cannot write {self.path}: {error.strerror}") from error

    def _cut_torn_tail(self) -> None:
        if self._file is not None:
            intact_bytes = HEADER_BYTES + len(self) * self._record.itemsize
            if os.fstat(self._file).st_size != intact_bytes:
                os.ftruncate(self._file, intact_bytes)

    def _read(self, row: int, count: int, length: int | None = None) -> bytes:
        """Read bytes from the start of a row: complete records, or the first ``length`` bytes of one."""
        size = self._record.itemsize
        wanted = count * size if length is None else length
        at = HEADER_BYTES + row * size
        parts = bytearray()
        while self._file is not None and len(parts) < wanted:
            part = os.pread(self._file, wanted - len(parts), at + len(parts))
            if not part:
                raise self._too_short(row)
            parts += part
        return bytes(parts)

    def _too_short(self, row: int) -> WorkspaceError:
        return WorkspaceError(f"{self.path} ends before row {row}", hint="open the workspace again")

    def _write(self, content: bytes, at: int) -> None:
        if self._file is None:
            raise WorkspaceError(f"{self.path} is closed")
        view = memoryview(content)
        while view:
            written = os.pwrite(self._file, view, at)
            view, at = view[written:], at + written


def read_header(path: Path) -> dict[str, object]:
    """Return the header of a vector log: ``encoder`` and ``dimension``.

    Raises:
        WorkspaceError: The file is no vector log.
    """
    try:
        with path.open("rb") as stream:
            header = json.loads(stream.read(HEADER_BYTES).rstrip(b"\0 \n").decode("ascii"))
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"{path} is not a vector log: {error}") from error
    if not isinstance(header, dict) or header.get("format") not in {_FORMAT, _OLD_FORMAT}:
        raise WorkspaceError(f"{path} is not a vector log of this version")
    return header


def copy_log(path: Path, target: Path, acknowledged: int) -> None:
    """Copy the rows of batches up to ``acknowledged`` to a new log, while a writer may add more.

    Raises:
        WorkspaceError: The file is no vector log, or cannot be read.
        OSError: The copy cannot be written.
    """
    header = read_header(path)
    dimension, encoder = header.get("dimension"), header.get("encoder")
    if not isinstance(dimension, int) or dimension < 1:
        raise WorkspaceError(f"{path} has a damaged header")
    log = VectorLog(path, dimension, str(encoder), read_only=True)
    try:
        left = log.visible(acknowledged) * _record(dimension).itemsize
        with path.open("rb") as source, target.open("wb") as copy:
            copy.write(source.read(HEADER_BYTES))
            while left and (chunk := source.read(min(left, 1 << 20))):
                copy.write(chunk)
                left -= len(chunk)
    finally:
        log.close()


def write_log(
    path: Path,
    dimension: int,
    encoder_hash: str,
    parts: Iterable[tuple[NDArray[np.int64], int | NDArray[np.int64], NDArray[np.float32]]],
    *,
    remade: int = 0,
) -> None:
    """Write a whole log beside and put it in place, as after a change of encoder.

    Args:
        path: The file; what is there is replaced at once, or not at all.
        dimension: Length of a vector.
        encoder_hash: What made the vectors.
        parts: Keys, batch or batches, and vectors, in the order of their batches.
        remade: Newest batch whose vectors were made again; they are not those that the batches brought.
    """
    record = _record(dimension)
    about = {"format": _FORMAT, "dimension": dimension, "encoder": encoder_hash, "remade": remade}
    header = json.dumps(about)
    beside = path.with_name(path.name + ".new")
    with beside.open("wb") as stream:
        stream.write(header.encode("ascii").ljust(HEADER_BYTES, b"\0"))
        for keys, batch, vectors in parts:
            stream.write(_pack(record, keys, batch, vectors))
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in ``folder`` survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _record(dimension: int) -> np.dtype[np.void]:
    return np.dtype([("key", "<i8"), ("batch", "<u4"), ("check", "<u4"), ("vector", "<f4", (dimension,))])


def _pack(
    record: np.dtype[np.void],
    keys: NDArray[np.int64],
    batch: int | NDArray[np.int64],
    vectors: NDArray[np.float32],
) -> bytes:
    rows = np.zeros(len(keys), dtype=record)
    rows["key"], rows["batch"], rows["vector"] = keys, batch, vectors
    rows["check"] = _checksums(rows)
    return rows.tobytes()


def _checksums(records: NDArray[np.void]) -> NDArray[np.uint32]:
    """Return the checksum of each record, taken with its checksum as 0; shape (n,), never 0."""
    plain = records.copy()
    plain["check"] = 0
    return np.array([zlib.crc32(row) or 1 for row in plain], np.uint32)
