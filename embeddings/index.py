"""The nearest problems: a table of vectors that is the truth, and a FAISS index that speeds it up.

A row's number in the table is its id in the index. Whatever the index lacks (rows added since, a file
that is damaged or was made from something else, a folder nobody may write to) is searched in the table
itself, so an answer never waits for an index and never misses a row.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embeddings.index_file import IndexFile
from embeddings.vector_table import VectorTable
from kg.rows.trials_file import TrialsFile

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
        rows: Their rows in the table, same shape.
    """

    keys: NDArray[np.int64]
    distances: NDArray[np.float32]
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.keys)


class ProblemIndex:
    """Vectors of the problems in one workspace.

    One process writes (it holds the workspace's lock); any number read.

    Args:
        file: The file of the rows, which has the vectors too.
        folder: The workspace; the index is the folder ``index`` in it.
        dimension: Length of a vector.
        encoder_hash: What makes the vectors.
        read_only: Open as a reader, which changes nothing.

    Raises:
        IndexMismatchError: The vectors are those of another encoder.
    """

    def __init__(
        self, file: TrialsFile, folder: Path, dimension: int, encoder_hash: str, *, read_only: bool = False
    ) -> None:
        self.table = VectorTable(file, dimension, encoder_hash, read_only=read_only)
        self._file = IndexFile(folder / INDEX_NAME)
        self._tail: tuple[int, NDArray[np.float32]] | None = None

    def __len__(self) -> int:
        """Count the vectors."""
        return len(self.table)

    def keys(self, acknowledged: int | None = None) -> NDArray[np.int64]:
        """Return the keys of the problems that have a vector, in the order they came."""
        return self.table.all_keys(self.table.visible(acknowledged))

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
        visible = self.table.visible(acknowledged)
        self._file.refresh(self.table)
        indexed = min(self._file.manifest.count, visible) if self._file.manifest else 0
        rows, squared = self._file.search(query, k, indexed)
        if visible > indexed:
            tail, tail_squared = self._search_table(query, k, indexed, visible)
            rows = np.concatenate([rows, tail])
            squared = np.concatenate([squared, tail_squared])
            order = np.argsort(squared, kind="stable")[:k]
            rows, squared = rows[order], squared[order]
        distances = np.sqrt(np.maximum(squared, 0)).astype(np.float32)
        return Neighbours(self.table.keys(rows), distances, rows)

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of rows of the table, in their order, shape (n, dimension)."""
        return self.table.vectors(rows)

    def catch_up(self, acknowledged: int | None = None) -> bool:
        """Bring the index up to the table if it is worth it; cheap if not.

        Args:
            acknowledged: The newest batch that counts.

        Returns:
            Whether an index was written.
        """
        rows = self.table.visible(acknowledged)
        self._file.refresh(self.table)
        indexed = self._file.manifest.count if self._file.manifest else 0
        waiting = rows - indexed
        if 0 <= waiting <= max(UNINDEXED_ROWS, _UNINDEXED_SHARE * rows):
            return False
        if self._file.outgrown(rows):
            self._file.build(self.table, rows)
        else:
            self._file.extend(self.table, rows)
        self._tail = None
        return True

    def rebuild(self) -> None:
        """Make the index anew from the table, as after damage."""
        self._file.build(self.table, self.table.visible(None))
        self._tail = None

    def verify(self) -> list[str]:
        """List the faults of the index, reading every byte; ``rebuild`` mends it."""
        return self._file.verify(self.table)

    def _search_table(
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
        """Return vectors of rows of the table; the last ones are cached."""
        if self._tail is None or self._tail[0] != start or len(self._tail[1]) < stop - start:
            self._tail = (start, self.table.rows(start, stop))
        return self._tail[1][: stop - start]
