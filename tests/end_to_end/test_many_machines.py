"""The commands of the compose file and of the Slurm script, run here as processes without containers."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree, which
from typing import Any

import httpx
import pytest
import yaml

from recommender.search.log.study import SearchLog
from tests.postgres_server import PASSWORD, USER, PostgresServer

Start = Callable[..., subprocess.Popen[bytes]]

pytestmark = pytest.mark.long

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "many-machines"
SERVICES: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
TOKEN = "0123456789abcdef0123"  # noqa: S105  of a server that is thrown away
TUNEGRAPH = str(Path(sys.executable).with_name("tunegraph"))


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.fixture
def start(shipped_path: Path) -> Iterator[Start]:
    """Starts a process, and ends it with the test."""
    begun: list[subprocess.Popen[bytes]] = []
    environment = {
        **os.environ,
        "PGPASSWORD": PASSWORD,
        "TUNEGRAPH_CACHE": str(shipped_path.parent / "cache"),
    }

    def run(*command: str, folder: Path, **more: str) -> subprocess.Popen[bytes]:
        begun.append(
            subprocess.Popen(command, cwd=folder, env={**environment, **more}, stderr=subprocess.PIPE)
        )
        return begun[-1]

    yield run
    for process in begun:
        process.terminate()
        process.communicate(timeout=60)


def command(service: str, places: dict[str, str]) -> list[str]:
    """The command of a service, with places of this machine for those of the containers."""
    words = [str(word) for word in SERVICES[service]["command"]]
    for name, place in places.items():
        words = [word.replace(name, place) for word in words]
    return words


def until(is_so: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + 180
    while not is_so():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < ends
        time.sleep(0.05)


def answers(address: str) -> bool:
    try:
        return httpx.get(address, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def test_the_service(shipped_path: Path, tmp_path: Path, start: Start) -> None:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    port = free_port()
    places = {
        "/workspace/knowledge": str(copytree(shipped_path, tmp_path / "knowledge")),
        "/run/secrets/token": str(tmp_path / "token"),
        "=0.0.0.0": "=127.0.0.1",
        "=8740": f"={port}",
    }
    served = start(TUNEGRAPH, *command("service", places), folder=tmp_path)
    until(lambda: answers(f"http://127.0.0.1:{port}/readyz"), served)
    question = {"model": "qwen3-32b", "phase": "serving", "hardware": "ascend-910b3", "count": 4}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as client:
        assert client.post("/v1/recommend", json=question).status_code == 401
        headers = {"Authorization": f"Bearer {TOKEN}", "Host": "service"}
        answer = client.post("/v1/recommend", json=question, headers=headers)
    assert answer.json()["start"]["fits"] is True


def test_two_workers_do_a_search(postgres: PostgresServer, url: str, tmp_path: Path, start: Start) -> None:
    assert SERVICES["worker"]["deploy"]["replicas"] == 2
    folder = copytree(FOLDER / "search", tmp_path / "search")
    here = url.replace(f":{PASSWORD}@", "@")
    assert f"{USER}@127.0.0.1:{postgres.port}" in here
    places = {"postgresql://tuner@database/searches": here, "/search": str(folder)}
    begin = start(TUNEGRAPH, *command("begin", places), folder=folder)
    assert begin.wait(180) == 0, begin.communicate()
    worker = start(TUNEGRAPH, *command("worker", places), folder=tmp_path)
    bash = which("bash")
    assert bash, "Slurm's scripts need bash"
    path = f"{Path(TUNEGRAPH).parent}{os.pathsep}{os.environ['PATH']}"
    array = start(bash, str(FOLDER / "worker.sbatch"), here, folder=folder, PATH=path)
    for process in (worker, array):
        assert process.wait(180) == 0, process.communicate()
    trials = SearchLog.open(url).trials()
    assert [item.state for item in trials] == ["COMPLETE"] * 8
    assert len({item.owner for item in trials}) == 2, "both took part"
