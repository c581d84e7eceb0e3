"""FAISS indexes made from a vector log: exact below 50,000 rows, cells above.

Notation: N rows of dimension d; nlist cells, of which a search visits nprobe.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from embeddings.vector_log import VectorLog

FLAT_BELOW = 50_000
"""Rows below which exact search is fast enough (1.2 CPU ms at 50,000 x 192) and cells would only lose."""
RECALL = 0.98
"""Share of the true nearest that cells must find, on rows of this very log."""

_MOST_CELLS = 1024
_TRAIN_ROWS_PER_CELL = 64
_CHUNK_ROWS = 50_000
_RECALL_QUERIES = 200
_RECALL_NEIGHBOURS = 50


def faiss_library() -> Any:
    """Import FAISS at first use; untyped, since its stubs lack the search parameters."""
    import faiss

    return faiss


def build(log: VectorLog, rows: int) -> tuple[Any, int, int, float]:
    """Build an index of the first ``rows`` rows.

    Returns:
        The index, nlist and nprobe (0 and 0 for exact search), and the recall measured with them.
    """
    faiss = faiss_library()
    index = faiss.IndexFlatL2(log.dimension)
    nlist = 0 if rows < FLAT_BELOW else min(_MOST_CELLS, int(4 * math.sqrt(rows)))
    if nlist:
        index = faiss.IndexIVFFlat(index, log.dimension, nlist)
        index.train(_sample(log, rows, nlist * _TRAIN_ROWS_PER_CELL))
    add(index, log, 0, rows)
    nprobe, recall = _choose_nprobe(index, log, rows) if nlist else (0, 1.0)
    return index, nlist, nprobe, recall


def add(index: Any, log: VectorLog, start: int, stop: int) -> None:
    """Add rows ``start`` to ``stop`` of the log to an index."""
    for _, vectors in _chunks(log, start, stop):
        index.add(vectors)


def _chunks(log: VectorLog, start: int, stop: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
    for first in range(start, stop, _CHUNK_ROWS):
        yield first, log.rows(first, min(first + _CHUNK_ROWS, stop))[2]


def _sample(log: VectorLog, rows: int, wanted: int) -> NDArray[np.float32]:
    """Sample about ``wanted`` rows, evenly spread over the log."""
    step = max(1, rows // wanted)
    return np.concatenate([vectors[(-first) % step :: step] for first, vectors in _chunks(log, 0, rows)])


def _choose_nprobe(index: Any, log: VectorLog, rows: int) -> tuple[int, float]:
    """Return twice the fewest cells that find enough of the nearest, and the share that half of them find.

    Half of the questions are rows of the log, half lie between two rows, where no case is. A
    neighbour counts as found if it is as near as the true one: equal problems are interchangeable.
    """
    queries = _sample(log, rows, _RECALL_QUERIES)[:_RECALL_QUERIES]
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
