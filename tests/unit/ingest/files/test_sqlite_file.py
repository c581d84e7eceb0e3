"""Databases that compute instead of storing: refused at once, at no cost."""

import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from ingest.door.records import NameResolver
from ingest.files.content import ContentError
from ingest.files.sqlite_file import ComputedContentError, open_untrusted, tables
from ingest.profiles.databases.databases import Database
from ingest.reading import FileReport, read
from tests.quiet_machine import cpu_seconds

GENERATED = "value_json TEXT GENERATED ALWAYS AS (printf('%.*c', 900000000, '1')) VIRTUAL"
OPTUNA = (
    "CREATE TABLE studies (study_id INTEGER PRIMARY KEY, study_name TEXT)",
    "CREATE TABLE study_directions (study_id, direction, objective)",
    'CREATE TABLE study_user_attributes (study_id, "key" TEXT)',
    f'CREATE TABLE study_system_attributes (study_id, "key" TEXT, {GENERATED})',
    "CREATE TABLE trials (trial_id INTEGER PRIMARY KEY, number, study_id, state)",
    "CREATE TABLE trial_params (param_id, trial_id, param_name, param_value, distribution_json)",
    "CREATE TABLE trial_values (trial_id, objective, value, value_type)",
    f'CREATE TABLE trial_user_attributes (trial_id, "key" TEXT, {GENERATED})',
    "INSERT INTO studies VALUES (1, 's')",
    "INSERT INTO study_directions VALUES (1, 'MINIMIZE', 0)",
    *["INSERT INTO study_user_attributes VALUES (1, 'k')"] * 20,
    f"ALTER TABLE study_user_attributes ADD COLUMN {GENERATED}",  # later, or each row costs seconds here already
)
COSTS = """
import re, sys, time
from pathlib import Path
from ingest.files.content import ContentError
from ingest.files.sqlite_file import open_untrusted
begun = time.process_time()
try:
    open_untrusted(Path(sys.argv[1]))
except ContentError as fault:
    peak = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]  # since exec, not the parent's
    print(time.process_time() - begun, peak, fault, sep="|")
"""


def database(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as made, made:
        for statement in statements:
            made.execute(statement)
    return path


def test_a_small_file_that_asks_for_gigabytes_is_refused_at_once(tmp_path: Path) -> None:
    path = database(tmp_path / "studies.db", *OPTUNA)
    assert path.stat().st_size < 65536
    done = subprocess.run(
        [sys.executable, "-c", COSTS, str(path)], capture_output=True, text=True, check=True
    )
    seconds, kilobytes, fault = done.stdout.split("|")
    assert "generated" in fault
    assert float(seconds) < 1
    assert int(kilobytes) < 200 * 1024


def test_the_report_says_why(tmp_path: Path, names: NameResolver) -> None:
    path = database(tmp_path / "studies.db", *OPTUNA)
    begun = time.process_time()
    [report] = [item for item in read([path], names) if isinstance(item, FileReport)]
    assert time.process_time() - begun < cpu_seconds(1)
    assert (report.good, report.bad) == (0, 1)
    assert "generated" in str(report.faults[0])


def test_a_profile_database_has_the_same_guard(tmp_path: Path) -> None:
    path = database(
        tmp_path / "msprof_0.db",
        "CREATE TABLE STRING_IDS (id INTEGER, value TEXT GENERATED ALWAYS AS (printf('%.*c', 900000000, '1')) STORED)",
    )
    told: list[str] = []
    with Database(path, "msprof_0.db", told.append) as opened:
        assert opened.columns == {}
        assert dict(opened.texts) == {}
    assert "generated" in told[0]


@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE t (a, b AS (zeroblob(900000000)))", "CREATE VIRTUAL TABLE t USING fts5(a)"],
)
def test_what_computes_its_content_is_refused(tmp_path: Path, statement: str) -> None:
    with pytest.raises(ComputedContentError):
        open_untrusted(database(tmp_path / "a.db", statement))


def test_a_value_above_the_limit_is_not_read(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "CREATE TABLE t (a)", "INSERT INTO t VALUES (zeroblob(16777217))")
    with closing(open_untrusted(path)) as opened, pytest.raises(sqlite3.Error, match="too big"):
        opened.execute("SELECT a FROM t").fetchall()


def test_plain_tables_are_listed_and_others_refused(tmp_path: Path) -> None:
    with closing(open_untrusted(database(tmp_path / "a.db", 'CREATE TABLE "o\'dd name" (a, b)'))) as opened:
        assert tables(opened) == {"o'dd name": frozenset({"a", "b"})}
    (tmp_path / "b.db").write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 16)
    with pytest.raises(ContentError):
        open_untrusted(tmp_path / "b.db")
