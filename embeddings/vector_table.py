"""The vectors of a workspace's problems, in the file of its rows.

A row's number is its id in the index. Each encoder has rows of its own, numbered from 0; the two newest
encoders keep theirs, so that who reads beside a change of encoder goes on with what was opened. Batches never
decrease, so the rows that a reader sees are a prefix.
"""

import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg.errors import IndexMismatchError, WorkspaceError
from kg.rows.trials_file import TrialsFile

KEPT_ENCODERS = 2
_SPAN = 1 << 40
"""Numbers set aside for the rows of one encoder."""

_RANGE = "FROM vectors WHERE row >= ? AND row < ? ORDER BY row"


class VectorTable:
    """The vectors that one encoder made.

    Attributes:
        file: Has the tables.
        dimension: Length of a vector.
        encoder_hash: What made the vectors.

    Args:
        file: Has the tables.
        dimension: Length of a vector.
        encoder_hash: What makes the vectors.
        read_only: Take only what is there.

    Raises:
        IndexMismatchError: A reader wants vectors of an encoder that made none, where others made some.
    """

    def __init__(
        self, file: TrialsFile, dimension: int, encoder_hash: str, *, read_only: bool = False
    ) -> None:
        self.file = file
        self.dimension = dimension
        self.encoder_hash = encoder_hash
        known = file.read("SELECT number, hash FROM encoders ORDER BY number DESC")
        number = next((number for number, made_by in known if made_by == encoder_hash), None)
        if number is None and read_only and known:
            raise IndexMismatchError(
                f"the vectors were made by encoder {known[0][1]}, not by {encoder_hash}",
                hint="make the vectors anew with: tunegraph doctor --repair",
            )
        self._number = number

    def __len__(self) -> int:
        """Count the rows; a writer elsewhere may add some at any time."""
        if self._number is None:
            return 0
        start = self._number * _SPAN
        [[last]] = self.file.read("SELECT max(row) FROM vectors WHERE row < ?", start + _SPAN)
        return 0 if last is None or last < start else int(last) - start + 1

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
        for (batch,) in self.file.read("SELECT batch FROM vectors WHERE row = ?", self._at(row)):
            return int(batch)
        raise self._missing(row)

    def keys(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return problem keys of rows, in their order, shape (n,)."""
        return np.array(self._some("problem", rows), np.int64)

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return vectors of rows, in their order, shape (n, dimension)."""
        return self._matrix(self._some("vector", rows))

    def all_keys(self, stop: int) -> NDArray[np.int64]:
        """Return the problem keys of the first ``stop`` rows, shape (stop,)."""
        found = self.file.read(f"SELECT problem {_RANGE}", self._at(0), self._at(stop))
        return np.array([key for (key,) in found], np.int64)

    def rows(self, start: int, stop: int) -> NDArray[np.float32]:
        """Return vectors of rows ``start`` to ``stop``, shape (n, dimension)."""
        found = self.file.read(f"SELECT vector {_RANGE}", self._at(start), self._at(stop))
        if len(found) != max(0, stop - start):
            raise self._missing(start + len(found))
        return self._matrix([vector for (vector,) in found])

    def raw(self, row: int) -> bytes:
        """Return key and vector of a row, by which an index knows what it was made from."""
        at = np.array([row])
        [key], [vector] = self._some("problem", at), self._some("vector", at)
        return int(key).to_bytes(8, "little") + bytes(vector)

    def append(self, keys: NDArray[np.int64], batch: int, vectors: NDArray[np.float32]) -> None:
        """Add rows, as part of the transaction that is open.

        Args:
            keys: Problem keys, shape (n,), none of which has a vector.
            batch: Number of the batch; not below that of any row there.
            vectors: Shape (n, dimension), finite.

        Raises:
            ValueError: Shapes, batch or values that do not fit; nothing was added.
        """
        count = len(self)
        if count and self.batch(count - 1) > batch:
            raise ValueError(f"batch {batch} after batch {self.batch(count - 1)}")
        self._insert(count, keys, np.full(len(keys), batch), vectors)

    def fill(self, keys: NDArray[np.int64], batches: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Put vectors of all problems in the place of what this encoder made before, as one step.

        Args:
            keys: Problem keys, shape (n,).
            batches: Batches that brought them, in order, shape (n,).
            vectors: Shape (n, dimension), finite.
        """
        with self.file.transaction():
            [[newest]] = self.file.read("SELECT coalesce(max(number), 0) FROM encoders")
            self.file.write("DELETE FROM encoders WHERE hash = ?", self.encoder_hash)
            self._number = newest + 1
            self._note()
            kept = self.file.read("SELECT number FROM encoders ORDER BY number DESC LIMIT ?", KEPT_ENCODERS)
            oldest = min(number for (number,) in kept)
            self.file.write("DELETE FROM vectors WHERE row < ?", oldest * _SPAN)
            self.file.write("DELETE FROM encoders WHERE number < ?", oldest)
            self._insert(0, keys, batches, vectors)

    def _insert(
        self,
        start: int,
        keys: NDArray[np.int64],
        batches: NDArray[np.int64],
        vectors: NDArray[np.float32],
    ) -> None:
        if vectors.shape != (len(keys), self.dimension):
            raise ValueError(
                f"{len(keys)} keys and vectors of shape {vectors.shape}, dimension {self.dimension}"
            )
        if not np.isfinite(vectors).all():
            raise ValueError("a vector is not finite")
        if self._number is None:
            [[newest]] = self.file.read("SELECT coalesce(max(number), 0) FROM encoders")
            self._number = newest + 1
        self._note()
        packed = (row.tobytes() for row in np.ascontiguousarray(vectors, np.dtype("<f4")))
        rows = [
            (self._at(start + place), key, batch, _checksum(key, vector), vector)
            for place, (key, batch, vector) in enumerate(
                zip(keys.tolist(), batches.tolist(), packed, strict=True)
            )
        ]
        self.file.insert("INSERT INTO vectors VALUES (?, ?, ?, ?, ?)", rows)

    def _note(self) -> None:
        self.file.write(
            "INSERT OR IGNORE INTO encoders VALUES (?, ?, ?)", self._number, self.encoder_hash, self.dimension
        )

    def _some(self, column: str, rows: NDArray[np.int64]) -> list[Any]:
        """Return a column of rows, in their order."""
        wanted = [self._at(row) for row in rows.tolist()]
        found = dict(
            self.file.read(
                f"SELECT row, {column} FROM vectors WHERE row IN (SELECT value FROM json_each(?))",  # noqa: S608
                json.dumps(wanted),
            )
        )
        if len(found) < len(set(wanted)):
            raise self._missing(next(row - self._at(0) for row in wanted if row not in found))
        return [found[row] for row in wanted]

    def _matrix(self, parts: list[bytes]) -> NDArray[np.float32]:
        flat = np.frombuffer(b"".join(parts), np.dtype("<f4"))
        return flat.reshape(len(parts), self.dimension).astype(np.float32, copy=False)

    def _at(self, row: int) -> int:
        return (self._number or 0) * _SPAN + int(row)

    def _missing(self, row: int) -> WorkspaceError:
        return WorkspaceError(f"the vectors end before row {row}", hint="open the workspace again")


def damaged(file: TrialsFile) -> int:
    """Count the vectors, of whatever encoder, that are not what was written; reads all of them."""
    rows = file.walk("SELECT checksum, problem, vector FROM vectors")
    return sum(_checksum(key, vector) != check for check, key, vector in rows)


def forget(file: TrialsFile) -> None:
    """Delete all vectors; the next writer makes them again."""
    with file.transaction():
        file.write("DELETE FROM vectors")
        file.write("DELETE FROM encoders")


def _checksum(key: int, vector: bytes) -> int:
    return zlib.crc32(vector, zlib.crc32(key.to_bytes(8, "little")))
