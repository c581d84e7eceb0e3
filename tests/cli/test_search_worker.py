"""Searches that many workers share, in a real PostgreSQL: killed, restarted, refused, and never twice the same."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from kg.entities import Kind
from kg.errors import InputError, MissingDependencyError, WorkspaceError
from kg.values import Settings
from recommender.measuring.outcome import Outcome
from recommender.search.assembly import search_of
from recommender.search.evaluations import Suggestion
from recommender.search.finalists import REPEATS
from recommender.search.objective import evaluation_of
from recommender.search.runner import Runner
from recommender.search.study import SearchLog
from recommender.search.task import Task
from tests.postgres_server import PASSWORD, NoServerError, PostgresServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tests.cli.conftest import Run

    Start = Callable[[str], subprocess.Popen[bytes]]

_DATABASES = count()

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
RAW: dict[str, Any] = {
    "parameters": {"x": [0, 1, 2, 3, 4, 5], "y": [0, 1, 2]},
    "objectives": [{"metric": "kernel_time", "unit": "s"}],
    "stop": {"evaluations": 14},
}
ELSEWHERE = "elsewhere:1:1:0"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server that runs; where there is none the tests are skipped aloud, and fail in CI."""
    try:
        made = PostgresServer()
    except NoServerError as missing:
        if os.environ.get("CI"):
            pytest.fail(f"{missing}")
        pytest.skip(f"{missing}")
    with made:
        yield made


@pytest.fixture
def url(server: PostgresServer) -> str:
    """A database with nothing in it."""
    name = f"test{next(_DATABASES)}"
    server.do(f"create database {name}")
    return server.url(name)


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


@pytest.fixture(params=["journal", "sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Each kind of storage."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("url"))
    return str(tmp_path / "toy.journal") if request.param == "journal" else f"sqlite:///{tmp_path}/toy.db"


@dataclass
class Bowl:
    """An objective that remembers what it was asked; smallest at x = 3, y = 0."""

    pause_s: float = 0.0
    seen: list[Settings] = field(default_factory=list)
    kind: Kind = Kind.MEASURED

    def evaluate(self, configuration: Settings, cancel: threading.Event) -> Outcome:
        self.seen.append(configuration)
        cancel.wait(self.pause_s)
        numbers = dict(configuration.numbers())
        return Outcome(
            values={"kernel_time": 1 + (numbers["x"] - 3) ** 2 + numbers["y"]}, cost_s=self.pause_s
        )


def begun(storage: str, **more: Any) -> SearchLog:
    """A new search."""
    task = Task.of({**RAW, **more}, name="toy")
    about = {"seed": 1, "task": task.raw, "digest": task.digest}
    return SearchLog.create(storage, name="toy", objectives=task.objectives, about=about, whole={})


def joined(storage: str, evaluator: Any, **more: Any) -> Runner:
    """A worker of a search."""
    log = SearchLog.open(storage, patience_s=20.0)
    task = Task.of(log.about["task"], name="toy")
    return Runner(log=log, task=task, search=search_of(task, seed=1), evaluator=evaluator, **more)


def together(runners: list[Runner]) -> None:
    """Run several workers at the same time."""
    threads = [threading.Thread(target=runner.run) for runner in runners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def started(log: SearchLog, x: int, y: int, *, owner: str = ELSEWHERE) -> Any:
    """A trial that a worker is at."""
    suggestion = Suggestion(number=0, configuration=Settings({"x": x, "y": y}), origin="random")
    return log.start(suggestion, Task.of(RAW, name="toy").space, owner=owner, until=None)


def told(log: SearchLog, trial: Any) -> bool:
    """The end of a trial, as its worker writes it."""
    task = Task.of(RAW, name="toy")
    outcome = Outcome(values={"kernel_time": 5.0})
    evaluation = evaluation_of(outcome, trial.configuration, task.objectives, task.limits)
    return log.finish(trial, evaluation, outcome, objectives=task.objectives, elapsed_s=1.0)


# --- what no two workers do


def test_workers_that_choose_at_the_same_moment_choose_differently_and_keep_the_budget(storage: str) -> None:
    begun(storage)
    bowl = Bowl()
    together([joined(storage, bowl) for _ in range(4)])
    trials = SearchLog.open(storage).trials()
    assert [item.state for item in trials] == ["COMPLETE"] * 14
    assert len(set(bowl.seen)) == len(bowl.seen) == 14


def test_finalists_are_measured_again_once_by_all_workers_together(url: str) -> None:
    begun(url, finalists=2)
    together([joined(url, Bowl(0.01)) for _ in range(3)])
    trials = SearchLog.open(url).trials()
    again = [item.configuration for item in trials if item.origin == "repeat"]
    assert len(again) == 2 * REPEATS
    assert again[0::2] == [again[0]] * REPEATS
    assert again[1::2] == [again[1]] * REPEATS


def test_what_a_worker_elsewhere_left_is_found_by_its_silence_and_done(url: str) -> None:
    log = begun(url)
    left = started(log, 5, 2)
    one = joined(url, bowl := Bowl(), beat_s=0.05)
    one.run()
    assert one.queue.requeued == 1
    assert bowl.seen.count(left.configuration) == 1
    trials = one.log.trials()
    assert [item.state for item in trials] == ["COMPLETE"] * 14
    assert len({item.configuration for item in trials}) == 14


def test_a_worker_elsewhere_that_beats_is_waited_for(url: str) -> None:
    log = begun(url, stop={"evaluations": 2})
    slow = started(log, 5, 2)
    one = joined(url, bowl := Bowl(), beat_s=0.1)
    thread = threading.Thread(target=one.run)
    thread.start()
    for _ in range(30):
        time.sleep(0.05)
        log.beat(slow)
    assert thread.is_alive()
    assert told(log, slow)
    thread.join(20)
    assert not thread.is_alive()
    assert slow.configuration not in bowl.seen
    assert len(bowl.seen) == 1
    assert one.queue.requeued == 0


def test_a_worker_taken_for_gone_that_comes_back_tells_nothing_twice(url: str) -> None:
    log, other = begun(url), SearchLog.open(url)
    trial = started(log, 5, 2)
    [seen] = other.trials()
    assert other.requeue(seen)
    assert not SearchLog.open(url).requeue(seen), "nobody queues it a second time"
    assert told(other, taken) if (taken := other.claim(other.trials()[0], owner="me", until=None)) else False
    assert not told(log, trial)
    [ended] = log.trials()
    assert (ended.owner, ended.state) == ("me", "COMPLETE")


def test_a_worker_that_beat_meanwhile_is_not_taken_for_gone(url: str) -> None:
    log, other = begun(url), SearchLog.open(url)
    trial = started(log, 5, 2)
    [seen] = other.trials()
    time.sleep(0.002)
    log.beat(trial)
    assert not other.requeue(seen)
    assert told(log, trial)


# --- a server that goes away


def test_a_turn_that_the_server_takes_away_is_done_again(url: str, server: PostgresServer) -> None:
    log = begun(url)
    seen: list[int] = []

    def action() -> str:
        seen.append(len(log.trials()))
        if len(seen) == 1:
            server.do(
                "select pg_terminate_backend(pid) from pg_stat_activity where state like 'idle in trans%'"
            )
        started(log, 1, len(seen))
        return "done"

    assert log.alone(action) == "done"
    assert len(seen) == 2
    assert len(log.trials()) == 1, "nothing is written without the turn"


def test_a_trial_whose_making_was_not_answered_is_evaluated_once(url: str) -> None:
    from sqlalchemy.exc import OperationalError

    begun(url)
    one = joined(url, bowl := Bowl())
    make, calls = one.log._backend.create_new_trial, count()

    def unanswered(*given: object) -> int:
        made = make(*given)
        if next(calls) == 3:
            raise OperationalError("insert", {}, Exception("server closed the connection unexpectedly"))
        return int(made)

    one.log._backend.create_new_trial = unanswered
    one.run()
    assert len(set(bowl.seen)) == len(bowl.seen) == len(one.log.trials()) == 14


def test_workers_live_through_a_kill_and_a_restart_of_the_server(
    server: PostgresServer, url: str, tmp_path: Path, search: Run, worker: Start
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
    server.kill()
    time.sleep(0.7)
    server.start()
    ended = [process.communicate(timeout=60) for process in workers]
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
    began = dict(log.about["made_by"])
    log.note("made_by", {**began, "code": "0123456789ab"})
    refused = search("worker", "--storage", url)
    assert refused.code == 2
    assert "begun by tunegraph" in refused.fault
    assert "0123456789ab" in refused.fault
    log.note("made_by", began)
    one = worker(url)
    while not (tmp_path / "calls").exists():
        assert one.poll() is None, one.communicate()
        time.sleep(0.05)
    one.terminate()
    _, err = one.communicate(timeout=20)
    assert one.returncode == 130, err
    assert [item.state for item in log.trials()] == ["WAITING"]


# --- who may not take part


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
    server: PostgresServer, change: dict[str, Any], error: type[Exception], words: str
) -> None:
    password = change.get("password", PASSWORD)
    url = server.url(change.get("database", "postgres"), password=password)
    url = url.replace(f":{server.port}/", f":{change.get('port', server.port)}/")
    with pytest.raises(error) as fault:
        SearchLog.open(url, patience_s=0.2)
    said = f"{fault.value} {fault.value.hint}"  # type: ignore[attr-defined]  # errors of ours have a hint
    assert words in said
    assert "\n" not in str(fault.value)
    assert password not in said
    assert "w/rd" not in said


def test_a_look_at_a_database_makes_nothing_in_it(url: str, server: PostgresServer) -> None:
    with pytest.raises(InputError, match="no search at"):
        SearchLog.open(url)
    database = url.rpartition("/")[2]
    assert server.do("select count(*) from pg_tables where schemaname = 'public'", database) == [(0,)]


def test_a_storage_of_another_version_of_optuna_is_refused(url: str, server: PostgresServer) -> None:
    begun(url)
    server.do("update alembic_version set version_num = 'v99.0.0.a'", url.rpartition("/")[2])
    with pytest.raises(WorkspaceError, match="another version of Optuna"):
        SearchLog.open(url)


def test_a_driver_that_is_missing_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("psycopg", "psycopg2"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(MissingDependencyError) as fault:
        SearchLog.open("postgresql://a:secret@127.0.0.1:1/b")
    assert fault.value.hint == "pip install 'tunegraph[postgresql]'"
    assert "secret" not in str(fault.value)


def test_the_password_is_nowhere(
    url: str, server: PostgresServer, tmp_path: Path, empty_path: Path, search: Run
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
    kept = server.do("select value_json from study_user_attributes", url.rpartition("/")[2])
    kept += server.do("select value_json from trial_user_attributes", url.rpartition("/")[2])
    assert kept
    assert PASSWORD not in str(kept)
