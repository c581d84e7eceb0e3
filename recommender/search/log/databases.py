"""Databases that hold searches: opened without making what was not asked for, and one worker at a time.

What a driver says of a database that is away is told in one line, and never with a password.
"""

import fcntl
import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kg.errors import InputError, MissingDependencyError, TuningError, WorkspaceError
from kg.nouns.values import digest

SERVERS = ("postgresql", "postgres")
"""Schemes of databases that many machines share."""
_TABLES = (
    "studies", "study_directions", "study_user_attributes", "study_system_attributes", "trials",
    "trial_params", "trial_values", "trial_user_attributes", "trial_system_attributes", "version_info",
    "alembic_version",
)  # fmt: skip
"""Tables that Optuna would recreate, empty, where they are lost."""
_HIDDEN = "***"
_USER = re.compile(r"(://[^/?#:@]*):(.{0,2000})@")
_QUERY = re.compile(r"([?&](?:ssl)?(?:password|passwd|pwd)=)([^&\s#]*)", re.IGNORECASE)


def is_url(storage: str) -> bool:
    """True for the URL of a database, False for a file."""
    return "://" in storage


def scheme(storage: str) -> str:
    """The kind of a database, without its driver: ``postgresql`` of ``postgresql+psycopg://...``."""
    return storage.partition("://")[0].partition("+")[0].lower()


def is_server(storage: str) -> bool:
    """True where workers on many machines can share a storage."""
    return is_url(storage) and scheme(storage) in SERVERS


def hide_password(storage: str) -> str:
    """A storage as it may be printed and kept: a password is three stars."""
    if not is_url(storage):
        return storage
    return _QUERY.sub(rf"\1{_HIDDEN}", _USER.sub(rf"\1:{_HIDDEN}@", storage))


def without_password(text: str, storage: str) -> str:
    """A text, such as a driver's message, from which the password of a storage is struck out."""
    for found in (*_USER.finditer(storage), *_QUERY.finditer(storage)):
        if secret := found.group(2):
            text = text.replace(secret, _HIDDEN)
    return text


def with_driver(storage: str) -> str:
    """A URL that names the driver: of PostgreSQL psycopg, where it is installed and none is named."""
    kind, _, rest = storage.partition("://")
    if kind.lower() not in SERVERS:
        return storage
    driver = "+psycopg" if find_spec("psycopg") else ""
    return f"postgresql{driver}://{rest}"


ALONE_S = 60
"""Longest turn in which one worker chooses and the others wait: a server ends the turn of one that hangs; a
choice, far above the seconds that choosing takes."""
_SQLITE = "sqlite:///"
_CONNECT_S = 10
_IN_VAIN = ("password", "authentication", "pg_hba", "does not exist", "permission denied")
"""Messages of a server with which trying again is useless."""
_LASTING = {"pool_size": 2, "max_overflow": 2, "pool_pre_ping": True}
"""Connections of one worker: two stay, as many more for a moment (its turn, and the thread that says that it
lives), and each is asked whether it still stands, since servers restart."""
_CONNECTION = {
    "connect_timeout": _CONNECT_S,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
"""Options of libpq, in seconds: a host that is gone is noticed after a minute rather than after two hours."""


def open_database(storage: str, *, create: bool) -> Any:
    """Optuna's storage in a database.

    Args:
        storage: Its URL.
        create: Make the tables of Optuna where there are none.

    Raises:
        InputError: The URL is none, of a database that is not supported, or there is nothing in it.
        WorkspaceError: Its tables are of another version of Optuna.
        MissingDependencyError: The driver is not installed.
        SQLAlchemyError: It cannot be reached; ``reason`` says why.
    """
    import optuna
    import sqlalchemy as sql
    import sqlalchemy.exc as faults

    if scheme(storage) not in {"sqlite", "postgresql", "postgres"}:
        raise InputError(
            f"{hide_password(storage)}: a search is kept in a file, in SQLite or in PostgreSQL",
            hint="postgresql://USER@HOST/DATABASE",
        )
    if not create and storage.startswith(_SQLITE) and not Path(storage.removeprefix(_SQLITE)).is_file():
        raise InputError(f"no search at {storage}", hint="begin one: tunegraph search run FILE")
    address = with_driver(storage)
    options = _options(address)
    try:
        sql.engine.make_url(address)
        engine = sql.create_engine(address, **options)
    except ImportError:
        raise MissingDependencyError(
            f"{hide_password(storage)}: the driver of this database is not installed",
            hint="in a clone: pip install '.[postgresql]'",
        ) from None
    except (faults.ArgumentError, ValueError):  # what they say may hold a part of the password
        raise InputError(
            f"{hide_password(storage)} is no URL of a database",
            hint="signs such as @ : / % in a password are written as %40 %3A %2F %25",
        ) from None
    try:
        with _turn(engine, storage, "tunegraph tables") if _missing(engine) else nullcontext():
            if missing := _missing(engine):  # which nobody is making now
                if _holds_studies(engine, missing):
                    raise WorkspaceError(
                        f"{hide_password(storage)} has lost the table {missing[0]}",
                        hint="restore the database; nothing is created in its place",
                    )
                if not create:
                    raise InputError(
                        f"no search at {hide_password(storage)}", hint="begin one: tunegraph search run FILE"
                    )
            tables = optuna.storages.RDBStorage(address, engine_kwargs=options)
    except RuntimeError as fault:
        place, version = hide_password(storage), optuna.__version__
        raise WorkspaceError(
            f"{place} is of another version of Optuna than {version}, which is here",
            hint="one version on all machines; or, with nobody at work: optuna storage upgrade --storage URL",
        ) from fault
    finally:
        engine.dispose()
    return optuna.storages.get_storage(tables)  # reads each ended trial once


def _options(address: str) -> dict[str, Any]:
    """Options of the connection to a database server."""
    if not is_server(address):
        return {}
    driver = address.partition("://")[0].partition("+")[2]
    reach: dict[str, Any] = dict(_CONNECTION) if driver in {"", "psycopg", "psycopg2"} else {}
    if driver == "psycopg":
        reach["prepare_threshold"] = None  # what is prepared belongs to one connection, which a pooler swaps
    return {**_LASTING, "connect_args": reach}


def troubles() -> tuple[type[Exception], ...]:
    """The exceptions that an operation raises where the database is at fault."""
    import optuna
    import sqlalchemy.exc as faults

    return (OSError, faults.SQLAlchemyError, optuna.exceptions.StorageInternalError)


def reason(fault: Exception, storage: str) -> str | None:
    """The message of a fault that may pass; None where trying again is of no use."""
    import sqlalchemy.exc as faults

    root = _root(fault)
    away = getattr(root, "connection_invalidated", False)  # whatever the server said when it closed it
    lost = OSError | faults.OperationalError | faults.InterfaceError | faults.TimeoutError
    ended = faults.PendingRollbackError  # of a transaction that went with its connection
    if not away and not isinstance(root, lost | ended):
        return None
    text = _words(root, storage)
    return None if any(words in text for words in _IN_VAIN) else text


def refusal(fault: Exception, storage: str) -> TuningError:
    """The error to end with where trying again is of no use."""
    text = _words(_root(fault), storage)
    hint = "is it the right URL? passwords may also stand in PGPASSWORD or ~/.pgpass"
    if "does not exist" in text and "database" in text:
        hint = "make it first: createdb NAME"
    return WorkspaceError(f"{hide_password(storage)}: {text}", hint=hint)


def _missing(engine: Any) -> list[str]:
    """Tables of Optuna that are not there."""
    import sqlalchemy as sql

    there = sql.inspect(engine).get_table_names()
    return [name for name in _TABLES if name not in there]


def _holds_studies(engine: Any, missing: Sequence[str]) -> bool:
    """True if tables were lost: Optuna makes the last one before it keeps the first study."""
    import sqlalchemy as sql

    if "alembic_version" not in missing or "studies" in missing:
        return "alembic_version" not in missing
    with engine.connect() as connection:
        return connection.execute(sql.text("SELECT 1 FROM studies LIMIT 1")).first() is not None


@contextmanager
def exclusive(backend: Any, storage: str, study: str) -> Iterator[None]:
    """Keep all other workers of a study from choosing, wherever they run, until the end of the block.

    Raises:
        ConnectionError: A transaction was to begin after the turn was lost, because the server went away or
            this process was stopped for longer than ``ALONE_S``: nothing is written without the turn.
    """
    engine = getattr(getattr(backend, "_backend", backend), "engine", None)  # below Optuna's cache
    with (
        _turn(engine, storage, "tunegraph search", study) as turn,
        nullcontext() if turn is None else _watched(engine, turn),
    ):
        yield


@contextmanager
def _turn(engine: Any, storage: str, *subject: str) -> Iterator[Any]:
    """Keep all others from a subject until the end of the block.

    PostgreSQL: an advisory lock of a transaction, which is given and ends with the connection. SQLite: a
    lock of the kernel on the folder, since a lock on the file would undo SQLite's own.
    """
    import sqlalchemy as sql

    if not is_server(storage):
        folder = Path(storage.removeprefix(_SQLITE)).resolve().parent
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield None
        finally:
            os.close(descriptor)
        return
    key = int(digest(*subject)[:15], 16)
    with engine.begin() as connection:
        connection.execute(sql.text(f"SET LOCAL lock_timeout = '{ALONE_S}s'"))
        connection.execute(sql.text(f"SET LOCAL idle_in_transaction_session_timeout = '{ALONE_S}s'"))
        connection.execute(sql.text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})
        yield connection


@contextmanager
def _watched(engine: Any, turn: Any) -> Iterator[None]:
    """See before each transaction of this thread that the turn is still held.

    Optuna begins a failed transaction anew by itself, on a server that may have been restarted meanwhile.
    """
    import sqlalchemy as sql
    import sqlalchemy.event as events
    import sqlalchemy.exc as faults

    here = threading.get_ident()

    def see(_connection: object) -> None:
        if threading.get_ident() != here:
            return
        try:
            turn.execute(sql.text("SELECT 1"))
        except faults.SQLAlchemyError as lost:  # of a kind that Optuna does not try again
            raise ConnectionError("the server went away while this worker was choosing") from lost

    events.listen(engine, "begin", see)
    try:
        yield
    finally:
        events.remove(engine, "begin", see)


def _root(fault: Exception) -> Exception:
    """The error of the database below Optuna's."""
    import optuna

    while isinstance(fault, optuna.exceptions.StorageInternalError) and isinstance(
        fault.__cause__, Exception
    ):
        fault = fault.__cause__
    return fault


def _words(root: Exception, storage: str) -> str:
    """The first line of what a driver says."""
    said = getattr(root, "strerror", None) or str(getattr(root, "orig", None) or root)
    lines = [line.strip() for line in str(said).splitlines() if line.strip()]
    return without_password(lines[0] if lines else type(root).__name__, storage)
