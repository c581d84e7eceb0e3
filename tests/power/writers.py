"""Writes what each part of the program acknowledges as kept, and ends without closing anything, as power does.

``python -m tests.power.writers FOLDER PART ... [--unsynced]`` runs the parts. With ``--unsynced`` nothing waits for the
disk: a test that finds everything there all the same could not fail.
"""

import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

import numpy as np
from pyoxigraph import Triple

from embeddings.vector_table import VectorTable
from kg.rows import trials_file
from kg.triples.graph import GraphStore
from kg.triples.iris import iri_of, literal
from recommender.experiment.journal import ExperimentJournal
from recommender.experiment.metadata import ExperimentMetadata
from recommender.experiment.samples import Sample
from recommender.files import write_folder
from recommender.search.log.storage_journal import StorageJournal
from tests.unit.recommender.experiment.trials import design

DIMENSION = 4
TRIPLES = 200
SAMPLES = [
    Sample(session=0, round=0, slot=k, arm=f"arm{k}", runs=(({"latency": 1.0 + k},),)) for k in range(3)
]


def vectors(folder: Path) -> None:
    """Batches of vectors, as part of transactions."""
    file = trials_file.open_file(folder / "vectors.db", read_only=False)
    table = VectorTable(file, DIMENSION, "hash")
    for batch in range(3):
        with file.transaction():
            table.append(np.array([batch]), batch, np.full((1, DIMENSION), batch, np.float32))


def rows(folder: Path) -> None:
    """Transactions of the file of trials."""
    file = trials_file.open_file(folder / "trials.db", read_only=False)
    for number in range(3):
        with file.transaction():
            file.write("INSERT INTO words (text) VALUES (?)", str(number))


def graph(folder: Path) -> None:
    """A graph that was flushed."""
    store = GraphStore(folder / "graph")
    store.extend(Triple(iri_of("one", str(k)), iri_of("property", "is"), literal(k)) for k in range(TRIPLES))
    store.flush()


def search(folder: Path) -> None:
    """Operations of a search's journal."""
    journal = StorageJournal(folder / "search.journal", create=True)
    for number in range(3):
        journal.append_logs([{"op_code": 0, "worker_id": "w", "study_name": str(number), "directions": [1]}])


def experiment(folder: Path) -> None:
    """Samples of an A/B test."""
    journal = ExperimentJournal(folder / "ab.jsonl", design(), ExperimentMetadata()).__enter__()
    for sample in SAMPLES:
        journal.add(sample)


def files(folder: Path) -> None:
    """A folder written whole."""
    write_folder(folder / "learned", {"a.json": b"{}", "b.bin": b"\0" * 9})


PARTS = {part.__name__: part for part in (vectors, rows, graph, search, experiment, files)}


def _sync_nothing() -> None:
    def ignore(*_: object, **__: object) -> None: ...

    def connect(*given: Any, **named_: Any) -> sqlite3.Connection:
        return plain(*given, **named_, factory=Unsynced)

    class Unsynced(sqlite3.Connection):
        def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
            return super().execute(sql.replace("synchronous = FULL", "synchronous = OFF"), *given)

    plain = sqlite3.connect
    os.fsync = ignore
    GraphStore.flush = ignore  # type: ignore[method-assign]
    sqlite3.connect = connect  # type: ignore[assignment]


if __name__ == "__main__":
    folder, *given = sys.argv[1:]
    if "--unsynced" in given:
        _sync_nothing()
    for name in given:
        if name in PARTS:
            PARTS[name](Path(folder))
    os._exit(0)
