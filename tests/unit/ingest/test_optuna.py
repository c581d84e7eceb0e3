from __future__ import annotations

import json
import sqlite3
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from ingest.reading import FileReport, read
from kg.nouns.entities import Better, Case, Status

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.door.records import NameResolver

CHOICES = json.dumps({"name": "CategoricalDistribution", "attributes": {"choices": [16, "wide", None]}})
WHOLE = json.dumps({"name": "IntDistribution", "attributes": {"low": 1, "high": 4, "step": 1, "log": False}})


def ingest(names: NameResolver, path: Path, hardware: str = "") -> tuple[list[Case], FileReport]:
    *cases, report = read([path], names, hardware=hardware)
    assert isinstance(report, FileReport)
    return [case for case in cases if isinstance(case, Case)], report


def database(path: Path) -> sqlite3.Connection:
    made = sqlite3.connect(path)
    made.executescript("""
        CREATE TABLE studies (study_id INTEGER, study_name TEXT);
        CREATE TABLE study_directions (direction TEXT, study_id INTEGER, objective INTEGER);
        CREATE TABLE study_user_attributes (study_id INTEGER, "key" TEXT, value_json TEXT);
        CREATE TABLE study_system_attributes (study_id INTEGER, "key" TEXT, value_json TEXT);
        CREATE TABLE trials (trial_id INTEGER, number INTEGER, study_id INTEGER, state TEXT);
        CREATE TABLE trial_params (param_id INTEGER, trial_id INTEGER, param_name TEXT, param_value FLOAT,
            distribution_json TEXT);
        CREATE TABLE trial_values (trial_id INTEGER, objective INTEGER, value FLOAT, value_type TEXT);
        CREATE TABLE trial_user_attributes (trial_id INTEGER, "key" TEXT, value_json TEXT);
        INSERT INTO studies VALUES (1, 'gemm on a100');
        INSERT INTO study_directions VALUES ('MAXIMIZE', 1, 0);
        INSERT INTO study_user_attributes VALUES (1, 'hardware', '"A100"'), (1, 'kernel', '"gemm"'),
            (1, 'metric', '"compute_rate"'), (1, 'unit', '"GFLOP/s"'), (1, 'problem_size', '[64, 64]');
        INSERT INTO trials VALUES (1, 0, 1, 'COMPLETE'), (2, 1, 1, 'PRUNED'), (3, 2, 1, 'PRUNED'),
            (4, 3, 1, 'FAIL'), (5, 4, 1, 'RUNNING'), (6, 5, 1, 'COMPLETE'), (7, 6, 1, 'COMPLETE');
        INSERT INTO trial_values VALUES (1, 0, 250, 'FINITE'), (6, 0, NULL, 'INF_POS');
        INSERT INTO trial_user_attributes VALUES (2, 'status', '"restricted"'), (4, 'reason', '"no memory"');
    """)
    made.executemany(
        "INSERT INTO trial_params VALUES (?, ?, ?, ?, ?)",
        [(1, 1, "tile", 1.0, CHOICES), (2, 1, "warps", 2.0, WHOLE), (3, 7, "tile", 9.0, CHOICES)],
    )
    made.commit()
    return made


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


def test_a_study_with_nothing_but_a_name_is_told_its_hardware_or_refused(
    names: NameResolver, shared: Path
) -> None:
    _, report = ingest(names, shared / "formats/optuna/studies.sqlite3")
    assert (report.good, report.bad) == (80 + 120, 1)
    assert "study 'conv_mi250x': names no hardware" in str(report.faults[0])
    assert "hardware 'a100' is taken from the name 'gemm_a100_time_energy'" in " ".join(report.guesses)


def test_the_sample_journal_and_table(names: NameResolver, shared: Path) -> None:
    cases, report = ingest(names, shared / "formats/optuna/journal.log", hardware="RTX 2080 Ti")
    assert (report.good, report.bad) == (25, 0)
    assert cases[0].measurement.value == 42.129755
    assert (cases[0].configuration["MWG"], cases[0].configuration["MDIMA"]) == (64, 32)
    cases, report = ingest(names, shared / "formats/optuna/trials_dataframe.csv", hardware="A100")
    assert (report.good, report.bad) == (80, 0)
    assert Counter(case.measurement.status for case in cases) == {Status.OK: 60, Status.FORBIDDEN: 20}
    assert any("direction is not in the table" in guess for guess in report.guesses)


def test_a_table_without_hardware_is_refused(names: NameResolver, shared: Path) -> None:
    _, report = ingest(names, shared / "formats/optuna/trials_dataframe.csv")
    assert (report.good, report.bad) == (0, 1)
    assert "names no hardware" in report.faults[0].reason


def test_states_values_and_choices_are_what_they_say(names: NameResolver, tmp_path: Path) -> None:
    database(tmp_path / "s.db").close()
    cases, report = ingest(names, tmp_path / "s.db", hardware="RTX 2080 Ti")
    assert [case.measurement.status for case in cases] == [
        Status.OK,
        Status.FORBIDDEN,
        Status.NOT_MEASURED,
        Status.FAILED,
        Status.FAILED,
    ]
    assert dict(cases[0].configuration) == {"tile": "wide", "warps": 2}
    assert (cases[0].measurement.value, cases[0].problem.objective.better) == (250e9, Better.HIGHER)
    assert cases[3].measurement.reason == "no memory"
    assert cases[0].problem.workload.shape["problem_size"] == (64, 64)
    assert str(report.faults[0]) == (
        "study 'gemm on a100', trial 6: a parameter's distribution is not Optuna's: " + CHOICES[:60]
    )
    told = " ".join(report.guesses)
    assert "1 trials that have not ended" in told
    assert "names hardware 'A100', the option says 'RTX 2080 Ti'; the file is believed" in told


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


JOURNAL = [
    {"op_code": 0, "worker_id": "w", "study_name": "s", "directions": [1]},
    {"op_code": 0, "worker_id": "v", "study_name": "s", "directions": [1]},
    {"op_code": 2, "worker_id": "w", "study_id": 0, "user_attr": {"hardware": "A100", "op": "gemm"}},
    {"op_code": 3, "worker_id": "w", "study_id": 0, "system_attr": {"study:metric_names": ["latency_us"]}},
    {"op_code": 4, "worker_id": "w", "study_id": 0, "datetime_start": "x"},
    {
        "op_code": 5,
        "worker_id": "w",
        "trial_id": 0,
        "param_name": "tile",
        "param_value_internal": 0,
        "distribution": CHOICES,
    },
    {"op_code": 6, "worker_id": "w", "trial_id": 0, "state": 1, "values": [7.5]},
    {"op_code": 6, "worker_id": "v", "trial_id": 0, "state": 3, "values": None},
    {"op_code": 6, "worker_id": "w", "trial_id": 5, "state": 1, "values": [1]},
    {"op_code": 99, "worker_id": "w"},
    {"op_code": 4, "worker_id": "w", "study_id": 3},
]


def test_a_journal_is_put_together_and_its_bad_lines_are_told(names: NameResolver, tmp_path: Path) -> None:
    lines = [json.dumps(line) for line in JOURNAL] + ["[1]", "{"]
    (tmp_path / "j.log").write_text("\n".join(lines))
    cases, report = ingest(names, tmp_path / "j.log")
    assert [case.measurement.value for case in cases] == [7.5e-6]
    assert (cases[0].measurement.metric, dict(cases[0].configuration)) == ("latency", {"tile": 16})
    assert [fault.place for fault in report.faults] == ["line 9", "line 10", "line 11", "line 12", "line 13"]
