"""Workers in processes of their own on one PostgreSQL: killed, restarted, refused, and never with a password shown."""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from recommender.search.log.study import SearchLog
from recommender.search.log.trial_record import LoggedTrial
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


ELSEWHERE = """
import datetime, socket, sys, time
host, skew = sys.argv[1], float(sys.argv[2])
real, kind = time.time, datetime.datetime
class Skewed(kind):
    @classmethod
    def now(cls, tz=None):
        return kind.now(tz) + datetime.timedelta(seconds=skew)
time.time, datetime.datetime, socket.gethostname = lambda: real() + skew, Skewed, lambda: host
sys.argv = ["tunegraph", "search", "worker", "--storage", sys.argv[3], "--json"]
from cli.main import main
main()
"""
"""A worker of another machine, by its name and its clock."""
OUTAGE_S = 60.0
SKEWS_S = (0.0, 3600.0, -3600.0, 0.0, 3600.0, -3600.0, 7.0, 0.0)


def under_way(log: SearchLog, calls: Path) -> dict[int, LoggedTrial]:
    """Evaluations in progress, by process: a record of the log, and a command that has not ended."""
    lines = calls.read_text().splitlines() if calls.exists() else []
    at = {line[6:] for line in lines if line.startswith("begin")}
    at -= {line[4:] for line in lines if line.startswith("end")}
    found = [item for item in log.trials() if item.state == "RUNNING" and point(item) in at]
    return {int(item.owner.split(":")[1]): item for item in found}


def point(trial: LoggedTrial) -> str:
    """The words of its command."""
    return " ".join(f"{value:g}" for _, value in sorted(dict(trial.configuration.numbers()).items()))


def test_eight_machines_keep_a_budget_through_kills_an_outage_and_clocks_an_hour_apart(
    postgres: PostgresServer, url: str, tmp_path: Path, search: Run, clean: Mapping[str, str],
    variables: dict[str, str],
) -> None:  # fmt: skip
    """Each death comes while an evaluation runs, which its own record and the command's both show."""
    bench = BENCH.replace('"$1 $2" >> calls', '"begin $1 $2" >> calls') + 'echo "end $1 $2" >> calls\n'
    (tmp_path / "bench.sh").write_text(bench)
    (tmp_path / "toy.yaml").write_text((FILE % ("5", 48)).replace("[0, 1, 2, 3]", "[0, 1, 2, 3, 4, 5, 6, 7]"))
    assert search("run", "toy.yaml", "--log", url, "--no-evaluate").code == 0
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", ELSEWHERE, f"machine{number}", str(skew), url],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**clean, **variables},
        )
        for number, skew in enumerate(SKEWS_S)
    ]  # fmt: skip
    log, calls = SearchLog.open(url, patience_s=30.0), tmp_path / "calls"
    lost: list[LoggedTrial] = []
    try:
        for victim in workers[:2]:  # one with the right time, one an hour ahead
            while (item := under_way(log, calls).get(victim.pid)) is None:
                assert victim.poll() is None, victim.communicate()
                time.sleep(0.05)
            victim.kill()
            lost.append(item)
        while len(before := under_way(log, calls)) < 6:
            time.sleep(0.05)
        postgres.kill()
        time.sleep(OUTAGE_S)
        postgres.start()
        ended = [process.communicate(timeout=400) for process in workers]
    finally:
        for process in workers:
            process.kill()
    assert [process.returncode for process in workers] == [-9, -9] + [0] * 6, ended
    trials = SearchLog.open(url).trials()
    assert [item.state for item in trials] == ["COMPLETE"] * 48, "the budget is exact"
    assert len({item.configuration for item in trials}) == 48
    done = Counter(line[6:] for line in calls.read_text().splitlines() if line.startswith("begin"))
    assert len(done) == 48
    again = {name for name, times in done.items() if times > 1}
    assert again == {point(item) for item in lost}, "only what the killed ones were at is done again"
    assert max(done.values()) == 2
    owners, gone = {item.number: item.owner for item in trials}, {item.number for item in lost}
    kept = [item for item in before.values() if item.number not in gone]
    assert len(kept) >= 4
    assert all(owners[item.number] == item.owner for item in kept), "each tells what it was at in the outage"
    assert sum(json.loads(out)["requeued"] for out, _ in ended[2:]) == 2, "and it is said"
    assert all(b"Traceback" not in err and PASSWORD.encode() not in out + err for out, err in ended)


def test_two_who_begin_one_search_at_the_same_moment_get_one(
    url: str, tmp_path: Path, search: Run, script: str, clean: Mapping[str, str], shipped_path: Path
) -> None:
    (tmp_path / "bench.sh").write_text(BENCH)
    (tmp_path / "toy.yaml").write_text(FILE % ("0", 3))
    words = [script, "--workspace", str(shipped_path), "search", "run", "toy.yaml", "--log", url]
    both = [
        subprocess.Popen([*words, "--no-evaluate"], cwd=tmp_path, env=clean, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], said
    assert search("worker", "--storage", url).code == 0
    assert len(SearchLog.open(url).trials()) == 3


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
