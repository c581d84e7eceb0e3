"""Optuna studies in SQLite files."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from ingest.door.records import NameResolver
from ingest.reading import FileReport, read
from kg.nouns.entities import Status
from tests.samples.optuna_database import database
from tests.samples.readings import ingest


def test_the_sample_database_gives_all_trials_of_its_three_studies(names: NameResolver, shared: Path) -> None:
    cases, report = ingest(names, shared / "formats/optuna/studies.sqlite3", hardware="MI250X")
    assert (report.good, report.bad, report.format) == (80 + 60 + 2 * 60, 0, "optuna")
    first = [case for case in cases if case.problem.workload.operator == "convolution_milo"]
    assert Counter(case.measurement.status for case in first) == {Status.OK: 60, Status.FORBIDDEN: 20}
    assert first[1].measurement.value == pytest.approx(0.001093376)
    assert dict(first[1].configuration) == {
        "block_size_x": 112,
        "block_size_y": 4,
        "read_only": 1,
        "tile_size_x": 3,
        "tile_size_y": 3,
        "use_padding": 0,
        "use_shmem": 1,
    }
    assert first[1].problem.hardware.name == "nvidia-a100"
    metrics = Counter(case.measurement.metric for case in cases)
    assert metrics == {"kernel_time": 80, "value": 60, "value_0": 60, "value_1": 60}


def test_a_database_is_not_changed_and_newer_trials_beside_it_are_told(
    names: NameResolver, tmp_path: Path
) -> None:
    path = tmp_path / "s.db"
    database(path).close()
    before = path.read_bytes()
    (tmp_path / "s.db-wal").write_bytes(b"x")
    _, report = ingest(names, path)
    assert "s.db-wal beside it holds trials" in report.faults[0].reason
    assert path.read_bytes() == before


def test_a_view_in_the_place_of_a_table_is_not_asked(names: NameResolver, tmp_path: Path) -> None:
    made = database(tmp_path / "s.db")
    made.executescript(
        "DROP TABLE trials; CREATE VIEW trials AS WITH RECURSIVE n(i) AS"
        " (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS trial_id, i AS number, 1 AS study_id,"
        " 'COMPLETE' AS state FROM n;"
    )
    made.close()
    (tmp_path / "a.jsonl").write_text("{}")
    reports = [item for item in read([tmp_path], names) if isinstance(item, FileReport)]
    assert {report.path.name: report.skipped for report in reports}["s.db"] == "an SQLite database"


@pytest.mark.parametrize("damage", [200, 3000, 9000])
def test_a_damaged_database_gives_a_fault(
    names: NameResolver, shared: Path, tmp_path: Path, damage: int
) -> None:
    raw = bytearray((shared / "formats/optuna/studies.sqlite3").read_bytes())
    raw[damage : damage + 60_000] = b"\xff" * 60_000
    (tmp_path / "s.db").write_bytes(raw)
    (tmp_path / "a.jsonl").write_text("{}")
    for item in read([tmp_path], names):
        if isinstance(item, FileReport) and item.path.name == "s.db":
            assert item.bad or item.skipped


def test_a_database_that_optuna_2_wrote_is_read(names: NameResolver, tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with closing(sqlite3.connect(path)) as written:  # made by optuna 2.10.1, dumped as SQL
        written.executescript(Path("tests/samples/optuna_2_10_1.sql").read_text())
    cases, report = ingest(names, path)
    assert (report.good, report.bad) == (8, 0)
    assert cases[0].measurement.value == pytest.approx(2.8574047126536906e-3)
    assert cases[3].measurement.status is not Status.OK, "it was pruned"
    first = {"block": 64, "stages": 2, "ratio": 0.21740471265369044, "lr": 2.3407464805767515e-05, "q": 0.0}
    assert dict(cases[0].configuration) == first
