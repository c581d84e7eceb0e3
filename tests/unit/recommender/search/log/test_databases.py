"""Faults of a database: that is away, those worth trying again, and a server that does not let us in."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from optuna.study import StudyDirection

from kg.errors import InputError, MissingDependencyError, WorkspaceError
from recommender.search.log.databases import (
    exclusive,
    hide_password,
    is_server,
    open_database,
    reason,
    refusal,
    troubles,
    with_driver,
    without_password,
)
from recommender.search.log.study import SearchLog
from tests.postgres_server import PASSWORD, PostgresServer


@pytest.mark.parametrize(
    ("storage", "expected"),
    [
        ("postgresql://me:secret@host:5432/db", "postgresql://me:***@host:5432/db"),
        ("postgresql+psycopg://me:secret@host/db?sslmode=require", "postgresql+psycopg://me:***@host/db?sslmode=require"),
        ("postgresql://me:sec@ret/secret:secret@host/db", "postgresql://me:***@host/db"),
        ("postgresql://:secret@host/db", "postgresql://:***@host/db"),
        ("postgresql://host/db?user=me&password=secret&connect_timeout=3", "postgresql://host/db?user=me&password=***&connect_timeout=3"),
        ("postgresql://host/db?sslpassword=secret", "postgresql://host/db?sslpassword=***"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("postgresql://host:5432/db", "postgresql://host:5432/db"),
        ("sqlite:///a/b.db", "sqlite:///a/b.db"),
        ("a:b@c.journal", "a:b@c.journal"),
    ],
)  # fmt: skip
def test_a_password_is_three_stars_and_nothing_else_is_hidden(storage: str, expected: str) -> None:
    assert hide_password(storage) == expected
    assert "secret" not in hide_password(storage)


def test_a_message_of_a_driver_is_rid_of_the_password() -> None:
    url = "postgresql://me:sec@ret@host/db?sslpassword=hidden"
    assert without_password("no sec@ret and no hidden at host", url) == "no *** and no *** at host"


def test_postgresql_is_reached_by_psycopg_where_it_is_installed() -> None:
    named = {with_driver(f"{kind}://host/db") for kind in ("postgresql", "postgres")}
    assert named in ({"postgresql+psycopg://host/db"}, {"postgresql://host/db"})
    assert with_driver("postgresql+psycopg2://host/db") == "postgresql+psycopg2://host/db"
    assert with_driver("sqlite:///a.db") == "sqlite:///a.db"


def test_what_many_machines_can_share() -> None:
    assert [is_server(item) for item in ("postgresql+psycopg://h/d", "postgres://h/d", "sqlite:///a", "a.journal")] == [
        True, True, False, False,
    ]  # fmt: skip


optuna = pytest.importorskip("optuna")
faults = pytest.importorskip("sqlalchemy.exc")

URL = "postgresql://me:secret@host/searches"


def fault(kind: str, text: str, *, invalidated: bool = False) -> Exception:
    """An error as SQLAlchemy raises it round what a driver said."""
    made: Exception = getattr(faults, kind)(
        "SELECT 1", {}, Exception(text), connection_invalidated=invalidated
    )
    return made


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (fault("OperationalError", "server closed the connection\nmore"), "server closed the connection"),
        (fault("InterfaceError", "connection already closed"), "connection already closed"),
        (fault("ProgrammingError", "terminating connection", invalidated=True), "terminating connection"),
        (OSError(5, "Input/output error"), "Input/output error"),
        (faults.TimeoutError("QueuePool limit"), "QueuePool limit"),
        (faults.PendingRollbackError("invalid transaction"), "invalid transaction"),
    ],
)
def test_what_may_pass_is_told_in_its_first_line(said: Exception, told: str) -> None:
    assert reason(said, URL) == told
    assert isinstance(said, troubles())


@pytest.mark.parametrize(
    "said",
    [
        fault("ProgrammingError", "syntax error"),
        fault("OperationalError", "password authentication failed for user"),
        fault("OperationalError", 'database "searches" does not exist'),
        fault("OperationalError", "permission denied for table studies"),
        ValueError("no number"),
    ],
)
def test_what_will_not_pass_is_not_tried_again(said: Exception) -> None:
    assert reason(said, URL) is None


def test_the_fault_below_optunas_is_told_without_the_password() -> None:
    outer = optuna.exceptions.StorageInternalError("An exception is raised during the commit.")
    outer.__cause__ = fault("OperationalError", f"could not connect to {URL}")
    told = reason(outer, URL)
    assert told is not None
    assert told.startswith("could not connect")
    assert "secret" not in told
    assert "secret" not in str(refusal(outer, URL))


def test_a_database_that_is_missing_is_to_be_made() -> None:
    missing = refusal(fault("OperationalError", 'database "searches" does not exist'), URL)
    assert "createdb" in missing.hint
    assert "secret" not in f"{missing} {missing.hint}"
    assert "createdb" not in refusal(fault("OperationalError", "password authentication failed"), URL).hint


def test_a_look_makes_no_file_and_a_strange_one_holds_no_search(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no search at"):
        open_database(f"sqlite:///{tmp_path}/none.db", create=False)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "empty.db").touch()
    with pytest.raises(InputError, match="no search at"):
        open_database(f"sqlite:///{tmp_path}/empty.db", create=False)
    with pytest.raises(InputError, match="in SQLite or in PostgreSQL"):
        open_database("mysql://host/db", create=True)


def test_one_worker_at_a_time_chooses_in_sqlite(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/toy.db"
    entered: list[str] = []
    begun = threading.Event()

    def other() -> None:
        begun.set()
        with exclusive(None, url, "s"):
            entered.append("other")

    with exclusive(None, url, "s"):
        thread = threading.Thread(target=other)
        thread.start()
        begun.wait()
        thread.join(0.05)  # would be in by now if nothing held it; a slow machine only hides the fault
        entered.append("first")
    thread.join()
    assert entered == ["first", "other"]


@pytest.mark.parametrize(
    "table",
    ["studies", "trials", "trial_values", "trial_params", "study_directions", "alembic_version"],
)
def test_a_lost_table_is_refused_and_not_made(table: str, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'search.db'}"
    open_database(address, create=True).create_new_study([StudyDirection.MINIMIZE], "kept")
    open_database(address, create=False)
    with closing(sqlite3.connect(tmp_path / "search.db")) as opened:
        opened.execute(f"DROP TABLE {table}")
        for create in (True, False):
            with pytest.raises(WorkspaceError, match=f"has lost the table {table}"):
                open_database(address, create=create)
        assert not opened.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchall()


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"password": "wrong-Secret"}, WorkspaceError, "password authentication failed"),
        ({"database": "nowhere"}, WorkspaceError, 'database "nowhere" does not exist'),
        ({"port": 1}, WorkspaceError, "cannot be reached: connection failed"),
        ({"database": "template1"}, InputError, "no search at"),
        ({"password": "p@ss:w/rd"}, InputError, "no URL of a database"),
    ],
)
def test_a_database_that_does_not_let_us_in_is_told_in_one_line_without_the_password(
    postgres: PostgresServer, change: dict[str, Any], error: type[Exception], words: str
) -> None:
    password = change.get("password", PASSWORD)
    url = postgres.url(change.get("database", "postgres"), password=password)
    url = url.replace(f":{postgres.port}/", f":{change.get('port', postgres.port)}/")
    with pytest.raises(error) as fault:
        SearchLog.open(url, patience_s=0.2)
    said = f"{fault.value} {fault.value.hint}"  # type: ignore[attr-defined]  # errors of ours have a hint
    assert words in said
    assert "\n" not in str(fault.value)
    assert password not in said
    assert "w/rd" not in said


@pytest.mark.long
def test_a_look_at_a_database_makes_nothing_in_it(url: str, postgres: PostgresServer) -> None:
    with pytest.raises(InputError, match="no search at"):
        SearchLog.open(url)
    database = url.rpartition("/")[2]
    assert postgres.do("select count(*) from pg_tables where schemaname = 'public'", database) == [(0,)]


@pytest.mark.long
def test_a_driver_that_is_missing_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("psycopg", "psycopg2"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(MissingDependencyError) as fault:
        SearchLog.open("postgresql://a:secret@127.0.0.1:1/b")
    assert fault.value.hint == "in a clone: pip install '.[postgresql]'"
    assert "secret" not in str(fault.value)
