"""Workers in processes of their own on one PostgreSQL: killed, restarted, refused, and never with a password shown."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from recommender.search.log.study import SearchLog
from tests.cli.conftest import Run
from tests.postgres_server import PASSWORD, PostgresServer

Start = Callable[[str], subprocess.Popen[bytes]]

pytestmark = pytest.mark.long

BENCH = """echo "$1 $2" >> calls
sleep $3
echo $(( 1 + ($1 - 3) * ($1 - 3) + $2 ))
"""
FILE = """
name: toy
parameters: {x: [0, 1, 2, 3, 4, 5], y: [0, 1, 2, 3]}
command: [sh, bench.sh, "{x}", "{y}", "%s"]
metrics: {kernel_time: {pattern: '(\\d+)', unit: s}}
objectives: [kernel_time]
stop: {evaluations: %d}
timeout_s: 60
"""


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Lets the many processes of these tests compile the program once, outside of its folder."""
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path_factory.mktemp("compiled"))}


@pytest.fixture
def search(run: Run, tmp_path: Path, variables: dict[str, str]) -> Run:
    """Runs ``tunegraph search`` in a folder with a search file of a toy."""
    (tmp_path / "bench.sh").write_text(BENCH)
    return partial(run, "search", environment=variables, folder=tmp_path)


@pytest.fixture
def worker(
    script: str, clean: Mapping[str, str], variables: dict[str, str]
) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts a worker in a process of its own."""
    begun: list[subprocess.Popen[bytes]] = []

    def start(url: str) -> subprocess.Popen[bytes]:
        begun.append(
            subprocess.Popen(
                [script, "search", "worker", "--storage", url, "--json"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**clean, **variables},
            )
        )
        return begun[-1]

    yield start
    for process in begun:
        process.kill()
        process.communicate()


def test_workers_live_through_a_kill_and_a_restart_of_the_server(
    postgres: PostgresServer, url: str, tmp_path: Path, search: Run, worker: Start
) -> None:
    (tmp_path / "toy.yaml").write_text(FILE % ("0.4", 24))
    calls = tmp_path / "calls"
    begin = search("run", "toy.yaml", "--log", url, "--no-evaluate", "--json")
    assert begin.code == 0
    workers = [worker(url) for _ in range(4)]
    log = SearchLog.open(url, patience_s=30.0)
    owner = str(workers[0].pid)
    while not any(x.state == "RUNNING" and x.owner.split(":")[1] == owner for x in log.trials()):
        assert workers[0].poll() is None, workers[0].communicate()
        time.sleep(0.05)
    workers[0].kill()
    told_before = [item for item in log.trials() if item.evaluation is not None]
    postgres.kill()
    time.sleep(0.7)
    postgres.start()
    ended = [process.communicate(timeout=180) for process in workers]
    assert [process.returncode for process in workers] == [-9, 0, 0, 0], ended
    trials = SearchLog.open(url).trials()
    assert [item.state for item in trials] == ["COMPLETE"] * 24
    assert len({item.configuration for item in trials}) == 24, "none twice"
    assert all(trials[item.number].evaluation == item.evaluation for item in told_before), "none lost"
    done = [line.split() for line in calls.read_text().splitlines()]
    assert len({tuple(item) for item in done}) == 24
    assert len(done) <= 25, "only what the killed one was at is done again"
    reports = [json.loads(out) for out, _ in ended[1:]]
    assert sum(item["requeued"] for item in reports) == 1
    assert all(item["stop_reason"] for item in reports)
    for out, err in ended:
        assert PASSWORD.encode() not in out + err
        assert b"Traceback" not in err


def test_a_worker_with_other_code_is_refused_and_an_interrupted_one_queues_again_what_it_was_at(
    url: str, tmp_path: Path, search: Run, worker: Start
) -> None:
    (tmp_path / "toy.yaml").write_text(FILE % ("30", 24))
    assert search("run", "toy.yaml", "--log", url, "--no-evaluate").code == 0
    log = SearchLog.open(url)
    began = log.metadata.program
    assert began is not None
    log.amend(program=replace(began, code="0123456789ab"))
    refused = search("worker", "--storage", url)
    assert refused.code == 2
    assert "begun by tunegraph" in refused.fault
    assert "0123456789ab" in refused.fault
    log.amend(program=began)
    one = worker(url)
    while not (tmp_path / "calls").exists():
        assert one.poll() is None, one.communicate()
        time.sleep(0.05)
    one.terminate()
    _, err = one.communicate(timeout=120)
    assert one.returncode == 130, err
    assert [item.state for item in log.trials()] == ["WAITING"]


def test_the_password_is_nowhere(
    url: str, postgres: PostgresServer, tmp_path: Path, empty_path: Path, search: Run
) -> None:
    (tmp_path / "toy.yaml").write_text(FILE % ("0", 3))
    said = [
        search("run", "toy.yaml", "--log", url, workspace=empty_path),
        search("worker", "--storage", url, "--json"),
        search("report", url, "--json", workspace=empty_path),
        search("ask", url, "--json", workspace=empty_path),
        search("status", url.replace(PASSWORD, f"{PASSWORD}-wrong")),
    ]
    assert [item.code for item in said] == [0, 0, 0, 0, 1]
    assert "new rows in the workspace" in said[0].err
    for item in said:
        assert PASSWORD not in item.out + item.err
    for path in empty_path.parent.rglob("*"):
        assert not path.is_file() or PASSWORD.encode() not in path.read_bytes(), path
    kept = postgres.do("select value_json from study_user_attributes", url.rpartition("/")[2])
    kept += postgres.do("select value_json from trial_user_attributes", url.rpartition("/")[2])
    assert kept
    assert PASSWORD not in str(kept)
