"""The FAISS index of the vectors: a cache on disk that can be thrown away at any moment.

The folder holds ``manifest.json`` and the index file it names. A new index is written beside,
flushed, and only then named by the manifest, so that a reader finds the old one or the new one.
FAISS itself loads a file with a flipped byte without a word: the manifest has the file's SHA-256,
which :meth:`IndexFile.verify` compares, and its size and row count, which every opening compares.

An index is exact below 50,000 rows and has cells above: nlist of them, of which a search visits nprobe.
"""

import hashlib
import json
import logging
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embeddings.vector_table import VectorTable
from kg.atomic_files import sha256_of, sync_folder, write_json
from kg.errors import WorkspaceError

logger = logging.getLogger(__name__)

_OUTGROWN = 3  # times the rows it was trained on, after which cells are drawn anew
FLAT_BELOW = 50_000
"""Rows below which exact search is fast enough (1.2 CPU ms at 50,000 x 192) and cells would only lose."""
RECALL = 0.98
"""Share of the true nearest that cells must find, on rows of this very table."""

_MOST_CELLS = 1024
_TRAIN_ROWS_PER_CELL = 64
_CHUNK_ROWS = 50_000
_RECALL_QUERIES = 200
_RECALL_NEIGHBOURS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexManifest:
    """The manifest of an index file, beside it on disk.

    Attributes:
        encoder_hash: What made the vectors.
        dimension: Length of a vector.
        count: Rows in it: the first ``count`` of the table.
        last: SHA-256 of row ``count - 1``, key and vector: the table it was made from, and no other.
        file: Name of the index file.
        size: Its bytes.
        sha256: Its checksum.
        nlist: Cells; 0 for exact search.
        nprobe: Cells a search visits.
        recall: Share of the 50 nearest found with half of those, on rows and mixtures of rows.
        trained_on: Rows there when the cells were drawn.
    """

    encoder_hash: str
    dimension: int
    count: int
    last: str
    file: str
    size: int
    sha256: str
    nlist: int = 0
    nprobe: int = 0
    recall: float = 1.0
    trained_on: int = 0


class IndexFile:
    """The newest index of a folder.

    Attributes:
        folder: Where manifest and index are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: IndexManifest | None = None
        self._index: Any = None
        self._stamp: tuple[int, int] | None = None

    def refresh(self, table: VectorTable) -> None:
        """Open the newest index that belongs to ``table``; afterwards ``manifest`` is None if none does."""
        for _ in range(2):  # a writer may replace the file between manifest and opening
            stamp = self._stat()
            if stamp == self._stamp and (stamp is None or self._index is not None):
                return
            self._stamp, self.manifest, self._index = stamp, None, None
            manifest = self._read_manifest()
            if manifest is None or not _belongs(manifest, table):
                return
            self._index = self._open(manifest)
            if self._index is not None:
                self.manifest = manifest
                return

    def search(
        self, vector: NDArray[np.float32], k: int, rows: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return row numbers and squared distances of the nearest among the first ``rows`` rows."""
        if self.manifest is None or rows <= 0:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        faiss = faiss_library()
        selector = faiss.IDSelectorRange(0, rows) if rows < self.manifest.count else None
        if self.manifest.nlist:
            parameters = faiss.SearchParametersIVF(nprobe=self.manifest.nprobe, sel=selector)
        else:
            parameters = faiss.SearchParameters(sel=selector)
        distances, numbers = self._index.search(vector[None, :], min(k, rows), params=parameters)
        valid = (numbers[0] >= 0) & (numbers[0] < rows)
        return numbers[0][valid], distances[0][valid]

    def outgrown(self, rows: int) -> bool:
        """Return whether ``rows`` rows need another kind of index than the one on disk."""
        if self.manifest is None or rows < self.manifest.count:
            return True
        if rows < FLAT_BELOW:
            return bool(self.manifest.nlist)
        return not self.manifest.nlist or rows > _OUTGROWN * self.manifest.trained_on

    def build(self, table: VectorTable, rows: int) -> None:
        """Make the index of the first ``rows`` rows anew and put it in place."""
        if rows == 0:
            self.discard()
            return
        index, nlist, nprobe, recall = build(table, rows)
        self._write(index, table, rows, nlist=nlist, nprobe=nprobe, recall=recall, trained_on=rows)

    def extend(self, table: VectorTable, rows: int) -> None:
        """Add the rows that the table has beyond the index, up to ``rows``."""
        faiss = faiss_library()

        manifest = self.manifest
        if manifest is None:
            self.build(table, rows)
            return
        try:
            index = faiss.read_index(str(self.folder / manifest.file))
        except RuntimeError:
            self.build(table, rows)
            return
        add(index, table, manifest.count, rows)
        self._write(
            index,
            table,
            rows,
            nlist=manifest.nlist,
            nprobe=manifest.nprobe,
            recall=manifest.recall,
            trained_on=manifest.trained_on,
        )

    def discard(self) -> None:
        """Remove the index; searches read the table until another is made."""
        (self.folder / "manifest.json").unlink(missing_ok=True)
        self._clean(keep="")
        self.manifest, self._index, self._stamp = None, None, None

    def verify(self, table: VectorTable) -> list[str]:
        """List the faults of the files on disk, checksum included; empty if they are intact or absent."""
        manifest = self._read_manifest()
        if manifest is None:
            path = self.folder / "manifest.json"
            return [f"{path} is not readable"] if path.exists() else []
        path = self.folder / manifest.file
        try:
            checksum = sha256_of(path)
        except (FileNotFoundError, IsADirectoryError):
            if self._read_manifest() != manifest:  # a writer has just put another in its place
                return self.verify(table)
            return [f"{path} is missing"]
        if checksum != manifest.sha256:
            return [f"{path} is not as it was written: checksums differ"]
        if not _belongs(manifest, table):
            return [f"{path} was made from other vectors than those of the table"]
        return []

    def _open(self, manifest: IndexManifest) -> Any:
        """Return the mapped index; None if the file is not what the manifest says."""
        faiss = faiss_library()

        path = self.folder / manifest.file
        try:
            if path.stat().st_size != manifest.size:
                logger.warning("%s has another size than when it was written; it is not used", path)
                return None
            index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
        except FileNotFoundError:
            self._stamp = None
            return None
        except (OSError, RuntimeError, MemoryError) as error:
            logger.warning("%s cannot be opened and is not used: %s", path, error)
            return None
        if (index.ntotal, index.d) != (manifest.count, manifest.dimension):
            logger.warning("%s holds %d rows, not %d; it is not used", path, index.ntotal, manifest.count)
            return None
        return index

    def _read_manifest(self) -> IndexManifest | None:
        try:
            return IndexManifest(**json.loads((self.folder / "manifest.json").read_text("utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            logger.warning("%s/manifest.json is not used: %s", self.folder, error)
            return None

    def _stat(self) -> tuple[int, int] | None:
        try:
            status = (self.folder / "manifest.json").stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino

    def _write(self, index: Any, table: VectorTable, rows: int, **details: Any) -> None:
        """Write beside, flush, name it in the manifest, remove what it replaces."""
        faiss = faiss_library()

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            beside = self.folder / "index.new"
            faiss.write_index(index, str(beside))
            with beside.open("rb") as stream:
                os.fsync(stream.fileno())
            checksum = sha256_of(beside)
            manifest = IndexManifest(
                encoder_hash=table.encoder_hash,
                dimension=table.dimension,
                count=rows,
                last=hashlib.sha256(table.raw(rows - 1)).hexdigest(),
                file=f"{rows}-{checksum[:12]}.faiss",
                size=beside.stat().st_size,
                sha256=checksum,
                **details,
            )
            beside.replace(self.folder / manifest.file)
            write_json(self.folder / "manifest.json", asdict(manifest))
            sync_folder(self.folder)
        except (OSError, RuntimeError) as error:
            reason = str(error).rpartition(": ")[2]  # faiss says its source before it
            raise WorkspaceError(
                f"cannot write the index in {self.folder}: {reason}",
                hint="make room on the disk if it is full; what was acknowledged is kept",
            ) from error
        self._clean(keep=manifest.file)
        self._stamp = None
        self.refresh(table)

    def _clean(self, keep: str) -> None:
        """Remove index files that no manifest names."""
        for path in self.folder.glob("*.faiss"):
            if path.name != keep:
                path.unlink(missing_ok=True)


def _belongs(manifest: IndexManifest, table: VectorTable) -> bool:
    """Return whether the index was made from the first rows of this table."""
    return (
        (manifest.encoder_hash, manifest.dimension) == (table.encoder_hash, table.dimension)
        and 0 < manifest.count <= len(table)
        and hashlib.sha256(table.raw(manifest.count - 1)).hexdigest() == manifest.last
    )


def faiss_library() -> Any:
    """Import FAISS at first use; untyped, since its stubs lack the search parameters."""
    import faiss

    return faiss


def build(table: VectorTable, rows: int) -> tuple[Any, int, int, float]:
    """Build an index of the first ``rows`` rows.

    Returns:
        The index, nlist and nprobe (0 and 0 for exact search), and the recall measured with them.
    """
    faiss = faiss_library()
    index = faiss.IndexFlatL2(table.dimension)
    nlist = 0 if rows < FLAT_BELOW else min(_MOST_CELLS, int(4 * math.sqrt(rows)))
    if nlist:
        index = faiss.IndexIVFFlat(index, table.dimension, nlist)
        index.train(_sample(table, rows, nlist * _TRAIN_ROWS_PER_CELL))
    add(index, table, 0, rows)
    nprobe, recall = _choose_nprobe(index, table, rows) if nlist else (0, 1.0)
    return index, nlist, nprobe, recall


def add(index: Any, table: VectorTable, start: int, stop: int) -> None:
    """Add rows ``start`` to ``stop`` of the table to an index."""
    for _, vectors in _chunks(table, start, stop):
        index.add(vectors)


def _chunks(table: VectorTable, start: int, stop: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
    for first in range(start, stop, _CHUNK_ROWS):
        yield first, table.rows(first, min(first + _CHUNK_ROWS, stop))


def _sample(table: VectorTable, rows: int, wanted: int) -> NDArray[np.float32]:
    """Sample about ``wanted`` rows, evenly spread over the table."""
    step = max(1, rows // wanted)
    return np.concatenate([vectors[(-first) % step :: step] for first, vectors in _chunks(table, 0, rows)])


def _choose_nprobe(index: Any, table: VectorTable, rows: int) -> tuple[int, float]:
    """Return twice the fewest cells that find enough of the nearest, and the share that half of them find.

    Half of the questions are rows of the table, half lie between two rows, where no case is. A
    neighbour counts as found if it is as near as the true one: equal problems are interchangeable.
    """
    queries = _sample(table, rows, _RECALL_QUERIES)[:_RECALL_QUERIES]
    half = len(queries) // 2
    queries[:half] = 0.7 * queries[:half] + 0.3 * queries[-half:][::-1]
    k = min(_RECALL_NEIGHBOURS, rows)
    truth, _ = _probe(index, queries, k, index.nlist)
    limit = truth[:, -1:] * (1 + 1e-5) + 1e-6
    nprobe, recall = 1, 0.0
    while nprobe < index.nlist:
        rows_found, _ = _probe(index, queries, k, nprobe)
        near = np.mean(rows_found <= limit, axis=1)
        recall = float(min(near[:half].mean(), near[half:].mean()))
        if recall >= RECALL:
            # Twice as many as needed here: a question about a device no case has lies between the cells.
            return min(2 * nprobe, int(index.nlist)), round(recall, 4)
        nprobe *= 2
    return int(index.nlist), 1.0


def _probe(index: Any, queries: NDArray[np.float32], k: int, nprobe: int) -> Any:
    return index.search(queries, k, params=faiss_library().SearchParametersIVF(nprobe=nprobe))
