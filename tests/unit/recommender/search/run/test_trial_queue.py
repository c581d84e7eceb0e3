"""Workers that share a search: each kind of storage, and PostgreSQL where it matters."""

import threading
import time
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kg.errors import InputError, WorkspaceError
from kg.nouns.entities import Kind
from kg.nouns.values import Settings
from recommender.measuring.outcome import RunOutcome
from recommender.search.evaluations import Suggestion
from recommender.search.log.metadata import SearchMetadata
from recommender.search.log.study import SearchLog
from recommender.search.log.workers import MANUAL
from recommender.search.log.workers import worker as worker_here
from recommender.search.run.assembly import search_of, task_of
from recommender.search.run.objective import evaluation_of
from recommender.search.run.runner import Runner
from recommender.search.run.task_file import TaskFile
from recommender.search.run.task_reader import read_task
from recommender.search.run.trial_queue import REPEATS, turns
from tests.postgres_server import PostgresServer

RAW: dict[str, Any] = {
    "parameters": {"x": [0, 1, 2, 3, 4, 5], "y": [0, 1, 2]},
    "objectives": [{"metric": "kernel_time", "unit": "s"}],
    "stop": {"evaluations": 14},
}

ELSEWHERE = "elsewhere:1:1:0"


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

    def evaluate(self, configuration: Settings, cancel: threading.Event) -> RunOutcome:
        self.seen.append(configuration)
        cancel.wait(self.pause_s)
        numbers = dict(configuration.numbers())
        return RunOutcome(
            values={"kernel_time": 1 + (numbers["x"] - 3) ** 2 + numbers["y"]}, cost_s=self.pause_s
        )


def begun(storage: str, **more: Any) -> SearchLog:
    """A new search."""
    raw = {**RAW, **more}
    task = read_task(TaskFile(raw, name="toy"))
    metadata = SearchMetadata(seed=1, file=raw, digest=task.digest)
    return SearchLog.create(storage, name="toy", objectives=task.objectives, metadata=metadata, record={})


def joined(storage: str, evaluator: Any, **more: Any) -> Runner:
    """A worker of a search."""
    log = SearchLog.open(storage, patience_s=20.0)
    task = task_of(log)
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
    return log.start(suggestion, read_task(TaskFile(RAW, name="toy")).space, owner=owner, until=None)


def told(log: SearchLog, trial: Any, cost: float = 5.0) -> bool:
    """The end of a trial, as its worker writes it."""
    task = read_task(TaskFile(RAW, name="toy"))
    outcome = RunOutcome(values={"kernel_time": cost})
    evaluation = evaluation_of(outcome, trial.configuration, task.objectives, task.limits)
    return log.finish(trial, evaluation, outcome, objectives=task.objectives, elapsed_s=1.0)


# --- what is read of the trials


@pytest.mark.parametrize(
    ("costs", "again"),
    [
        ([1.0, 1.1, 1.2], [1.0, 1.1, 1.2]),
        ([1.2, 9.0, 1.0, 1.1, 1.15], [1.0, 1.1, 1.15]),  # three at most
        ([1.0, 1.2, 1.3], [1.0, 1.2]),
        ([1.0, 1.5, 2.0], [1.0, 1.5]),  # the second whatever it is
        ([1.0, 1.5], [1.0, 1.5]),
        ([1.0], []),
    ],
)
def test_those_near_the_best_are_measured_again_and_the_second_always(
    costs: list[float], again: list[float], tmp_path: Path
) -> None:
    log = begun(str(tmp_path / "toy.journal"))
    for x, cost in enumerate(costs):
        assert told(log, started(log, x, 0), cost)
    found = turns(log.trials(), search_of(task_of(log), seed=1), 3)
    assert [costs[int(str(item["x"]))] for item in found] == again * REPEATS


def test_who_evaluates_what_is_counted_by_worker(tmp_path: Path) -> None:
    storage = str(tmp_path / "toy.journal")
    log = begun(storage)
    for x, owner in enumerate((ELSEWHERE, ELSEWHERE, MANUAL)):
        started(log, x, 0, owner=owner)
    queue = joined(storage, Bowl()).queue
    queue.trials = log.trials()
    assert (queue.elsewhere, queue.others) == (3, 2)
    queue.mine = {queue.trials[0].number: queue.trials[0]}
    assert (queue.elsewhere, queue.others) == (2, 1)


# --- what no two workers do


@pytest.mark.long
def test_workers_that_choose_at_the_same_moment_choose_differently_and_keep_the_budget(storage: str) -> None:
    begun(storage)
    bowl = Bowl()
    together([joined(storage, bowl) for _ in range(4)])
    trials = SearchLog.open(storage).trials()
    assert [item.state for item in trials] == ["COMPLETE"] * 14
    assert len(set(bowl.seen)) == len(bowl.seen) == 14


@pytest.mark.long
def test_finalists_are_measured_again_once_by_all_workers_together(url: str) -> None:
    begun(url, finalists=2)
    together([joined(url, Bowl(0.01)) for _ in range(3)])
    trials = SearchLog.open(url).trials()
    again = [item.configuration for item in trials if item.origin == "repeat"]
    assert len(again) == 2 * REPEATS
    assert again[0::2] == [again[0]] * REPEATS
    assert again[1::2] == [again[1]] * REPEATS


@pytest.mark.long
def test_what_a_worker_elsewhere_left_is_found_by_its_silence_and_done(url: str) -> None:
    log = begun(url)
    left = started(log, 5, 2)
    one = joined(url, bowl := Bowl(), beat_s=0.3)
    one.run()
    assert one.queue.requeued == 1
    assert bowl.seen.count(left.configuration) == 1
    trials = one.log.trials()
    assert [item.state for item in trials] == ["COMPLETE"] * 14
    assert len({item.configuration for item in trials}) == 14


@pytest.mark.long
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


@pytest.mark.long
def test_a_worker_of_this_machine_that_hangs_is_found_by_its_silence(url: str) -> None:
    log = begun(url)
    left = started(log, 5, 2, owner=f"{worker_here()}:99")
    one = joined(url, bowl := Bowl(), beat_s=0.3)
    one.run()
    assert one.queue.requeued == 1
    assert bowl.seen.count(left.configuration) == 1


@pytest.mark.long
def test_a_search_is_begun_once_by_all_who_begin_it_at_the_same_moment(url: str) -> None:
    came = threading.Barrier(6)  # the database is empty: one makes the tables
    said: list[str] = []

    def begin() -> None:
        came.wait()
        try:
            task = read_task(TaskFile(RAW, name="same"))
            SearchLog.create(
                url, name="same", objectives=task.objectives, metadata=SearchMetadata(), record={}
            )
            said.append("begun")
        except InputError as fault:
            said.append(str(fault))

    threads = [threading.Thread(target=begin) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(item.rpartition("'same' ")[2] for item in said) == ["already"] * 5 + ["begun"]


@pytest.mark.long
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


@pytest.mark.long
def test_a_worker_that_beat_meanwhile_is_not_taken_for_gone(url: str) -> None:
    log, other = begun(url), SearchLog.open(url)
    trial = started(log, 5, 2)
    [seen] = other.trials()
    time.sleep(0.002)
    log.beat(trial)
    assert not other.requeue(seen)
    assert told(log, trial)


@pytest.mark.long
def test_a_trial_that_something_else_ended_is_dropped(url: str) -> None:
    import optuna

    log = begun(url)
    trial = started(log, 5, 2)
    log._backend.set_trial_state_values(trial.trial_id, optuna.trial.TrialState.FAIL)
    assert not told(log, trial)
    joined(url, Bowl()).run()


@pytest.mark.long
def test_a_worker_keeps_to_few_connections(url: str, postgres: PostgresServer) -> None:
    begun(url)
    held: list[int] = []
    name = url.rpartition("/")[2]

    def connections() -> int:
        return int(dict(postgres.do("select datname, count(*) from pg_stat_activity group by 1"))[name])

    one = joined(url, Bowl(0.05), beat_s=0.02)
    before = connections()
    one.on_progress = lambda _: held.append(connections() - before)
    one.run()
    assert max(held) <= 4


# --- a server that goes away


@pytest.mark.long
def test_a_search_that_is_removed_is_told(url: str) -> None:
    import optuna

    begun(url)
    one = joined(url, Bowl())
    optuna.delete_study(study_name="toy", storage=one.log._backend)
    with pytest.raises(WorkspaceError, match="was removed"):
        one.run()


@pytest.mark.long
def test_a_turn_that_the_server_takes_away_is_done_again(url: str, postgres: PostgresServer) -> None:
    log = begun(url)
    seen: list[int] = []

    def action() -> str:
        seen.append(len(log.trials()))
        if len(seen) == 1:
            postgres.do(
                "select pg_terminate_backend(pid) from pg_stat_activity where state like 'idle in trans%'"
            )
        started(log, 1, len(seen))
        return "done"

    assert log.exclusively(action) == "done"
    assert len(seen) == 2
    assert len(log.trials()) == 1, "nothing is written without the turn"


@pytest.mark.long
def test_a_turn_whose_transaction_went_with_its_connection_is_done_again(
    url: str, postgres: PostgresServer
) -> None:
    import sqlalchemy as sql

    log = begun(url)
    calls = count()
    with log._backend._backend.engine.connect() as other:

        def action() -> str:
            if next(calls) == 0:
                other.execute(sql.text("SELECT 1"))
                other.invalidate()
                other.execute(sql.text("SELECT 1"))  # which no server is asked any more
            return "done"

        assert log.exclusively(action) == "done"
    assert next(calls) == 2


@pytest.mark.long
def test_optuna_does_not_write_on_a_restarted_server_what_was_chosen_on_the_old_one(
    url: str, postgres: PostgresServer
) -> None:
    log = begun(url)
    tables = log._backend._backend
    prepared, calls, turns = tables._get_prepared_new_trial, count(), count()

    def dies_once(*given: object) -> object:
        if next(calls) == 0:
            postgres.kill()
            postgres.start()
        return prepared(*given)

    tables._get_prepared_new_trial = dies_once

    def action() -> int:
        turn = next(turns)
        started(log, 1, 2)
        return turn

    assert log.exclusively(action) == 1, "the whole turn is done again"
    assert len(log.trials()) == 1


@pytest.mark.long
def test_what_another_chose_and_ended_while_a_turn_was_lost_is_not_chosen_again(url: str) -> None:
    from sqlalchemy.exc import OperationalError

    begun(url)
    one, two = joined(url, bowl := Bowl()), joined(url, bowl)
    start, calls = one.log.start, count()

    def lost(*given: Any, **more: Any) -> Any:
        if next(calls) == 5:
            other = SearchLog.open(url)
            other._is_exclusive = True  # as if the server had given the turn to it
            told(other, other.start(*given, **{**more, "owner": "another"}))
            raise OperationalError("insert", {}, Exception("server closed the connection unexpectedly"))
        return start(*given, **more)

    one.log.start = lost  # type: ignore[method-assign]  # a storage that fails at one moment
    one.run()
    two.run()
    trials = one.log.trials()
    assert len({item.configuration for item in trials}) == len(trials) == 14
    assert len(set(bowl.seen)) == len(bowl.seen) == 13


@pytest.mark.long
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


# --- who may not take part


@pytest.mark.long
def test_a_storage_of_another_version_of_optuna_is_refused(url: str, postgres: PostgresServer) -> None:
    begun(url)
    postgres.do("update alembic_version set version_num = 'v99.0.0.a'", url.rpartition("/")[2])
    with pytest.raises(WorkspaceError, match="another version of Optuna"):
        SearchLog.open(url)


@pytest.mark.long
@pytest.mark.parametrize("storage", ["journal", "sqlite"], indirect=True)
def test_what_was_drawn_when_an_interruption_came_is_queued_again(
    storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(storage)
    runner = joined(storage, Bowl())
    start = SearchLog.start

    def interrupted(self: SearchLog, *args: Any, **named: Any) -> Any:
        start(self, *args, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(SearchLog, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runner.run()
    assert {item.state for item in runner.log.trials()} == {"WAITING"}
