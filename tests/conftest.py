"""Fixtures of several test packages: a workspace of the shipped knowledge, and the place of shared data."""

import fcntl
import gc
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from recommender.workspace.workspace import Workspace
from tests.postgres_server import NoServerError, PostgresServer

ROOT = Path(__file__).resolve().parent.parent
_DATABASES = count()

gc.disable()  # until the tests are collected: a million objects that stay

if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):
    # as in the background of a shell or under nohup: what the tests start would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "busy machine", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("busy machine")  # a test that waits for the processor has found no fault


def pytest_xdist_auto_num_workers() -> int:
    """Workers for ``-n auto``: one more than there are cores, since servers and commands are waited for."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """Garbage is collected again, but for the tests themselves, which no collection looks through."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def shipped_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of the shipped knowledge, without a text model; do not write to it.

    It is made once in a run; each of several workers has a copy.
    """
    place, base = tmp_path_factory.mktemp("shipped"), tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "made"
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not Workspace.exists(shared / "workspace"):
            Workspace.create(shared / "workspace", cache=shared / "cache", text_model=None)
        return shutil.copytree(shared / "workspace", place / "workspace")


@pytest.fixture(scope="session")
def shipped(shipped_path: Path) -> Iterator[Workspace]:
    """The same, open for reading: what it has read of the graph serves the tests that follow."""
    with Workspace.open(shipped_path, cache=shipped_path.parent / "cache") as opened:
        yield opened


@pytest.fixture(scope="session")
def empty_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with nothing in it, not to be written to."""
    place = tmp_path_factory.mktemp("empty")
    Workspace.create(place / "workspace", cache=place / "cache", text_model=None, with_shipped=False)
    return place / "workspace"


@pytest.fixture
def empty_path(empty_place: Path, tmp_path: Path) -> Path:
    """A workspace with nothing in it."""
    return shutil.copytree(empty_place, tmp_path / "workspace")


@pytest.fixture(scope="session")
def shared_cases() -> Path:
    """The folder of real cases, where there is one."""
    root = Path(os.environ.get("TUNEGRAPH_SHARED", ROOT.parent / "shared"))
    found = root / "data" / "cases"
    if not found.is_dir():
        pytest.skip("no folder of shared cases: set TUNEGRAPH_SHARED")
    return found


def _needed(program: str, missing: str) -> str:
    """The path of a program. Where there is none, what needs it is left out at a desk and fails in CI."""
    found = shutil.which(program)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return found


@pytest.fixture(scope="session")
def compiler() -> str:
    """The C compiler."""
    return _needed("cc", "no C compiler (cc) to build the kernels with: install gcc or clang")


@pytest.fixture(scope="session")
def preloading(compiler: str) -> str:
    """The C compiler, where the system puts what it builds before the libraries of a program (``LD_PRELOAD``)."""
    if not sys.platform.startswith("linux"):
        pytest.skip("a disk that fails, or loses power, is a library that Linux alone loads before others")
    return compiler


@pytest.fixture(scope="session")
def bash() -> str:
    """The shell that runs launch scripts."""
    return _needed("bash", "no bash to run the scripts with")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server that runs; where there is none the tests fail and say what to install."""
    try:
        made = PostgresServer()
    except NoServerError as missing:
        pytest.fail(f"{missing}")
    with made:
        yield made


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    """A database with nothing in it."""
    name = f"test{next(_DATABASES)}"
    postgres.do(f"create database {name}")
    return postgres.url(name)
