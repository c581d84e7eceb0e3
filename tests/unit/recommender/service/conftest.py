"""A server that runs in a thread, over a copy of the shipped workspace."""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from recommender.service.access import Access
from recommender.service.app import TuningService
from recommender.service.server import listening_socket, make_server

TOKEN = b"0123456789abcdef0123"


@contextmanager
def running(path: Path, access: Access, *, writes: bool = False) -> Iterator[httpx.Client]:
    """A client of a server that is ready."""
    service = TuningService.of(path, path.parent / "cache", access, writes=writes)
    server = make_server(service, "0")
    listener = listening_socket("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        with httpx.Client(base_url=base, timeout=60, trust_env=False) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def served_path(shipped_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of its own for a module: answers are remembered in it."""
    return shutil.copytree(shipped_path, tmp_path_factory.mktemp("served") / "workspace")


@pytest.fixture(scope="module")
def client(served_path: Path) -> Iterator[httpx.Client]:
    """A client of a server without a token."""
    with running(served_path, Access.of("127.0.0.1")) as made:
        yield made


@pytest.fixture(scope="module")
def guarded(served_path: Path) -> Iterator[httpx.Client]:
    """A client, without the token, of a server that wants one."""
    with running(served_path, Access.of("127.0.0.1", ["tuning.example"], TOKEN)) as made:
        yield made
