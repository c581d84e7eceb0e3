"""Databases of the profiler."""

import math
import sqlite3
from pathlib import Path

import pytest

from ingest.profiles.folders import read_profile
from kg.errors import InputError
from tests.samples.profile_databases import database, kernels_of, task_database


@pytest.mark.parametrize("viewer", [False, True])
def test_a_database_is_read_and_nothing_is_written_beside_it(tmp_path: Path, viewer: bool) -> None:
    path = tmp_path / "ascend_pytorch_profiler_5.db"
    database(path, viewer=viewer)
    before = (sorted(tmp_path.iterdir()), path.read_bytes())
    [rank] = read_profile(tmp_path).ranks
    assert (sorted(tmp_path.iterdir()), path.read_bytes()) == before
    assert rank.kernels is not None
    assert rank.kernels.start_ns[0] == 1700000000000000123
    assert rank.kernels.duration_us[0] == 15.0
    assert rank.kernels.pipe("aicore_time(us)")[0] == 14.0
    assert rank.kernels.text("kind", 0) == "MatMulV3"
    assert math.isnan(rank.kernels.wait_us[0]) is not viewer


def test_a_database_without_tables_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "msprof_0.db") as made:
        made.execute("PRAGMA user_version = 3")
    made.close()
    with pytest.raises(InputError, match="a database without tables"):
        read_profile(tmp_path)


def test_tasks_of_a_database_that_cannot_be_are_told(tmp_path: Path) -> None:
    task_database(
        tmp_path / "msprof_0.db", (100, 50), (2**63 - 2, 2**63 - 1), (-(2**62), 2**62), (1000, 3000)
    )
    [rank] = read_profile(tmp_path).ranks
    assert rank.kernels is not None
    assert rank.kernels.duration_us.tolist() == [2.0]
    assert rank.kernels.text("state", 0) == "dynamic"
    assert any("3 tasks have no time that can be" in note for note in rank.notes)


def test_blocks_of_newer_schemas_are_not_the_threads_beside_them(tmp_path: Path) -> None:
    task_database(tmp_path / "msprof_0.db", (1000, 3000), columns="blockDim, blockNum")
    assert kernels_of(tmp_path).numbers["blocks"].tolist() == [6.0]


def test_a_database_of_another_schema_is_read_with_a_note(tmp_path: Path) -> None:
    task_database(tmp_path / "msprof_0.db", (1000, 3000))
    with sqlite3.connect(tmp_path / "msprof_0.db") as made:
        made.execute("CREATE TABLE META_DATA (name, value)")
        made.execute("INSERT INTO META_DATA VALUES ('SCHEMA_VERSION_MAJOR', '9')")
    made.close()
    [rank] = read_profile(tmp_path).ranks
    assert any("schema 9" in note for note in rank.notes)


def test_a_database_that_somebody_writes_is_read_as_far_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "msprof_0.db"
    task_database(path, (1000, 3000))
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("BEGIN EXCLUSIVE")
    writer.execute("INSERT INTO TASK VALUES (5000, 6000, 0)")
    writer.commit()
    before = sorted(tmp_path.iterdir())
    try:
        [rank] = read_profile(tmp_path).ranks
        assert sorted(tmp_path.iterdir()) == before
    finally:
        writer.close()
    assert rank.kernels is not None
    assert any("msprof_0.db-wal" in note for note in rank.notes)
