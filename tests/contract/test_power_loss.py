"""Acknowledged writes survive a loss of power: unsynced pages are dropped, and everything is still there.

A library loaded before all others (``tests/power/power_cut.c``) keeps what was synced of each file, whoever wrote it:
Python, SQLite or the graph's database.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from embeddings.vector_table import VectorTable
from kg.rows import trials_file
from kg.triples.graph import GraphStore
from recommender.experiment import journal as experiment_journal
from recommender.files import folder_faults
from recommender.search.log.storage_journal import StorageJournal
from tests.power.writers import DIMENSION, PARTS, SAMPLES, TRIPLES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def library(preloading: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("power") / "power_cut.so"
    source = str(ROOT / "tests" / "power" / "power_cut.c")
    subprocess.run(
        [preloading, "-shared", "-fPIC", "-O1", "-o", str(built), source, "-ldl", "-lpthread"], check=True
    )
    return built


def after_power_is_gone(library: Path, folder: Path, *given: str) -> Path:
    """The disk after the writers ran and power went."""
    memory, disk = folder / "memory", folder / "disk"
    memory.mkdir()
    disk.mkdir()
    surroundings = {"LD_PRELOAD": str(library), "POWER_ROOT": str(memory), "POWER_DISK": str(disk)}
    subprocess.run(
        [sys.executable, "-m", "tests.power.writers", str(memory), *given],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **surroundings},
        check=True,
    )
    return disk


@pytest.fixture(scope="module")
def synced(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return after_power_is_gone(library, tmp_path_factory.mktemp("synced"), *PARTS)


@pytest.fixture(scope="module")
def unsynced(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return after_power_is_gone(library, tmp_path_factory.mktemp("unsynced"), *PARTS, "--unsynced")


def vectors_are_there(disk: Path) -> bool:
    if not (disk / "vectors.db").is_file():
        return False
    file = trials_file.open_file(disk / "vectors.db", read_only=False)
    try:
        return bool(VectorTable(file, DIMENSION, "hash").all_keys(9).tolist() == [0, 1, 2])
    finally:
        file.close()


def rows_are_there(disk: Path) -> bool:
    if not (disk / "trials.db").is_file():
        return False
    file = trials_file.open_file(disk / "trials.db", read_only=False)
    try:
        return file.read("SELECT text FROM words ORDER BY key") == [("0",), ("1",), ("2",)]
    finally:
        file.close()


def graph_is_there(disk: Path) -> bool:
    if not (disk / "graph").is_dir():
        return False
    store = GraphStore(disk / "graph")
    try:
        return len(store) == TRIPLES
    finally:
        store.close()


def search_is_there(disk: Path) -> bool:
    if not (disk / "search.journal").is_file():
        return False
    operations = StorageJournal(disk / "search.journal").read_logs(0)
    return [item["study_name"] for item in operations] == ["0", "1", "2"]


def experiment_is_there(disk: Path) -> bool:
    path = disk / "ab.jsonl"
    return path.is_file() and list(experiment_journal.read(path).samples) == SAMPLES


def files_are_there(disk: Path) -> bool:
    learned = disk / "learned"
    return learned.is_dir() and (learned / "b.bin").read_bytes() == bytes(9) and folder_faults(learned) == []


KEPT = {
    "vectors": vectors_are_there,
    "rows": rows_are_there,
    "graph": graph_is_there,
    "search": search_is_there,
    "experiment": experiment_is_there,
    "files": files_are_there,
}


@pytest.mark.parametrize("part", PARTS)
def test_what_was_acknowledged_is_on_the_disk_after_power_is_gone(part: str, synced: Path) -> None:
    assert KEPT[part](synced)


@pytest.mark.parametrize("part", PARTS)
def test_without_waiting_for_the_disk_it_is_gone(part: str, unsynced: Path) -> None:
    assert not KEPT[part](unsynced)
