"""The nearest problems: a log of vectors that is the truth, and a FAISS index that speeds it up.

A row's number in the log is its id in the index. Whatever the index lacks (rows added since, a file
that is damaged or was made from something else, a folder nobody may write to) is searched in the log
itself, so an answer never waits for an index and never misses a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embeddings.index_file import IndexFile
from embeddings.vector_log import VectorLog

LOG_NAME = "vectors.log"
INDEX_NAME = "index"

UNINDEXED_ROWS = 1_000
"""Rows that may wait outside the index: searching them costs 0.2 CPU ms, writing an index seconds."""
_UNINDEXED_SHARE = 0.01
_FLAT_SEARCH_ROWS = 8_192


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest problems, nearest first.

    Attributes:
        keys: Problem keys, shape (k,) or shorter where there are fewer.
        distances: Euclidean distances in the weighted feature space, same shape; below about 1 lies
            what differs in one plain respect (:mod:`embeddings.features`).
        rows: Their rows in the log, same shape.
    """

    keys: NDArray[np.int64]
    distances: NDArray[np.float32]
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.keys)


class ProblemIndex:
    """Vectors of problems in one workspace folder.

    One process writes (it holds the workspace's lock); any number read.

    Attributes:
        folder: The workspace: the log is ``vectors.log`` in it, the index the folder ``index``.
    """

    def __init__(self, folder: Path, dimension: int, encoder_hash: str, *, read_only: bool = False) -> None:
        """Open the vectors of a workspace, or make an empty log.

        Args:
            folder: The workspace.
            dimension: Length of a vector.
            encoder_hash: What makes the vectors.
            read_only: Open as a reader, which changes nothing.

        Raises:
            IndexMismatchError: The log holds vectors of another encoder.
            WorkspaceError: The log cannot be opened.
        """
        self.folder = folder
        self._log = VectorLog(folder / LOG_NAME, dimension, encoder_hash, read_only=read_only)
        self._file = IndexFile(folder / INDEX_NAME)
        self._known: set[int] | None = None
        self._tail: tuple[int, NDArray[np.float32]] | None = None

    def __len__(self) -> int:
        """Count the rows of the log, those of unacknowledged batches included."""
        return len(self._log)

    def keys(self, acknowledged: int | None = None) -> NDArray[np.int64]:
        """Return the keys of the problems that have a vector, in the order they came."""
        return self._log.rows(0, self._log.visible(acknowledged))[0]

    def digest(self, batch: int) -> str:
        """Digest the vectors of a batch; empty if it has none."""
        return self._log.digest(batch)

    @property
    def remade(self) -> int:
        """Newest batch whose vectors were made again; 0 if none were."""
        return self._log.remade

    def newest(self) -> int:
        """Return the newest batch that any vector bears, acknowledged or not; 0 without vectors."""
        return self._log.batch(len(self._log) - 1) if len(self._log) else 0

    def damaged(self) -> list[int]:
        """Return the rows of the log whose checksum differs."""
        return self._log.damaged()

    def append(self, keys: NDArray[np.int64], batch: int, vectors: NDArray[np.float32]) -> int:
        """Add vectors of problems that have none yet, and wait until they are on the disk.

        Args:
            keys: Problem keys, shape (n,).
            batch: Number of the batch they belong to; not below an earlier one.
            vectors: Shape (n, dimension).

        Returns:
            How many were added.

        Raises:
            WorkspaceError: They cannot be written; nothing was added.
        """
        if self._known is None:
            self._known = set(self._log.rows(0, len(self._log))[0].tolist())
        fresh: dict[int, int] = {}
        for position, key in enumerate(keys.tolist()):
            if key not in self._known:
                fresh.setdefault(key, position)
        if not fresh:
            return 0
        chosen = np.fromiter(fresh.values(), dtype=np.intp, count=len(fresh))
        self._log.append(keys[chosen], batch, vectors[chosen])
        self._known.update(fresh)
        return len(fresh)

    def search(self, vector: NDArray[np.float32], k: int, acknowledged: int | None = None) -> Neighbours:
        """Return the k nearest problems.

        Args:
            vector: Shape (dimension,).
            k: How many.
            acknowledged: The newest batch that counts; later rows do not exist. None: every row.

        Returns:
            At most k problems; exact for rows outside the index and below 50,000 rows, at least 98 %
            of the true ones beyond.
        """
        query = np.ascontiguousarray(vector, dtype=np.float32)
        visible = self._log.visible(acknowledged)
        self._file.refresh(self._log)
        indexed = min(self._file.manifest.count, visible) if self._file.manifest else 0
        rows, squared = self._file.search(query, k, indexed)
        if visible > indexed:
            tail, tail_squared = self._search_log(query, k, indexed, visible)
            rows = np.concatenate([rows, tail])
            squared = np.concatenate([squared, tail_squared])
            order = np.argsort(squared, kind="stable")[:k]
            rows, squared = rows[order], squared[order]
        distances = np.sqrt(np.maximum(squared, 0)).astype(np.float32)
        return Neighbours(self._log.keys(rows), distances, rows)

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of rows of the log, in their order, shape (n, dimension)."""
        return self._log.vectors(rows)

    def catch_up(self, acknowledged: int | None = None) -> bool:
        """Bring the index up to the log if it is worth it; cheap if not.

        Args:
            acknowledged: The newest batch that counts.

        Returns:
            Whether an index was written.
        """
        rows = self._log.visible(acknowledged)
        self._file.refresh(self._log)
        indexed = self._file.manifest.count if self._file.manifest else 0
        waiting = rows - indexed
        if 0 <= waiting <= max(UNINDEXED_ROWS, _UNINDEXED_SHARE * rows):
            return False
        if self._file.outgrown(rows):
            self._file.build(self._log, rows)
        else:
            self._file.extend(self._log, rows)
        self._tail = None
        return True

    def rebuild(self, acknowledged: int | None = None) -> None:
        """Make the index anew from the log, as after damage."""
        self._file.build(self._log, self._log.visible(acknowledged))
        self._tail = None

    def sweep(self, after_batch: int) -> int:
        """Remove the rows of batches after ``after_batch``, which no reader ever saw.

        Returns:
            How many were removed.
        """
        keep, there = self._log.visible(after_batch), len(self._log)
        if keep < there:
            self._file.refresh(self._log)
            if self._file.manifest is not None and self._file.manifest.count > keep:
                self._file.discard()
            self._log.truncate(keep)
            self._known = None
            self._tail = None
        return there - keep

    def verify(self) -> list[str]:
        """List the faults of log and index, reading every byte; ``rebuild`` mends an index."""
        faults = []
        if damaged := self._log.damaged():
            faults.append(f"{self._log.path}: {len(damaged)} records are not what was written")
        keys, batches, vectors = self._log.rows(0, len(self._log))
        if not np.isfinite(vectors).all():
            faults.append(f"{self._log.path}: a vector is not finite")
        if (np.diff(batches) < 0).any():
            faults.append(f"{self._log.path}: batches are out of order")
        if len(np.unique(keys)) != len(keys):
            faults.append(f"{self._log.path}: a problem has two vectors")
        return faults + self._file.verify(self._log)

    def close(self) -> None:
        """Close the log."""
        self._log.close()

    def _search_log(
        self, vector: NDArray[np.float32], k: int, start: int, stop: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the nearest of the rows from ``start`` to ``stop``, and their squared distances."""
        vectors = self._rows(start, stop)
        parts = []
        for first in range(0, len(vectors), _FLAT_SEARCH_ROWS):
            difference = vectors[first : first + _FLAT_SEARCH_ROWS] - vector
            parts.append(np.einsum("ij,ij->i", difference, difference))
        squared = np.concatenate(parts)
        if k < len(squared):
            nearest = np.argpartition(squared, k - 1)[:k]
            nearest = nearest[np.argsort(squared[nearest], kind="stable")]
        else:
            nearest = np.argsort(squared, kind="stable")
        return nearest.astype(np.int64) + start, squared[nearest]

    def _rows(self, start: int, stop: int) -> NDArray[np.float32]:
        """Return vectors of rows of the log; the last ones are cached."""
        if self._tail is None or self._tail[0] != start or len(self._tail[1]) < stop - start:
            self._tail = (start, self._log.rows(start, stop)[2])
        return self._tail[1][: stop - start]
