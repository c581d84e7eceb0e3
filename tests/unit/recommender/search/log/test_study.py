"""The log of a search: a journal that survives, a study that reads back as its cases."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ingest.reading import read
from kg.errors import InputError, WorkspaceError
from kg.nouns.entities import Better, Case, Kind, Limit, Objective, Status
from kg.nouns.values import Settings
from recommender.measuring.outcome import RunOutcome
from recommender.search.evaluations import Suggestion
from recommender.search.log.metadata import SearchMetadata
from recommender.search.log.storage_journal import StorageJournal, patiently
from recommender.search.log.study import SearchLog
from recommender.search.log.workers import is_gone, worker
from recommender.search.run.objective import evaluation_of
from recommender.space.space_file import read_space
from tests.unit.ingest.conftest import PlainNames

OBJECTIVES = (
    Objective(metric="throughput", better=Better.HIGHER, unit="tokens/s"),
    Objective(metric="energy", better=Better.LOWER, unit="J"),
)
LIMITS = (Limit(metric="peak_memory", maximum=32e9, unit="B"),)
SPACE = read_space(
    {
        "parameters": {
            "mode": ["a", "b"],
            "on": [False, True],
            "tile": [16, 32, 64],
            "depth": {"low": 1, "high": 9},
            "rate": {"low": 0.001, "high": 1.0, "log": True},
            "extra": {"values": [1, 2], "when": "on"},
        }
    }
)
RECORD = {
    "task": {"kind": "training", "op": "train", "model": "bert-large", "shape": {"seq_len": 128}},
    "hardware": {"name": "acme-one", "count": 8},
    "kind": "measured",
    "software": {"cann": "8.0"},
    "outcomes": [
        {"metric": "throughput", "unit": "tokens/s", "better": "higher"},
        {"metric": "energy", "unit": "J", "better": "lower"},
        {"metric": "peak_memory", "unit": "B", "better": "lower"},
    ],
    "source": {"title": "tunegraph search toy", "note": "somewhere"},
}
FIRST = Settings({"mode": "a", "on": True, "tile": 32, "depth": 4, "rate": 0.25, "extra": 2})
SECOND = Settings({"mode": "b", "on": False, "tile": 16, "depth": 9, "rate": 1})


def log_of(storage: str, **more: Any) -> SearchLog:
    """A new log."""
    given: dict[str, Any] = {
        "metadata": SearchMetadata(seed=1),
        "record": RECORD,
        "objectives": OBJECTIVES,
        **more,
    }
    return SearchLog.create(storage, name="toy", **given)


def told(log: SearchLog, configuration: Settings, outcome: RunOutcome) -> None:
    """Evaluate one configuration."""
    suggestion = Suggestion(number=0, configuration=configuration, origin="random", expected=(2.0, 3.0))
    trial = log.start(suggestion, SPACE, owner=worker(), until=None)
    evaluation = evaluation_of(outcome, configuration, OBJECTIVES, LIMITS)
    log.finish(trial, evaluation, outcome, objectives=OBJECTIVES, elapsed_s=1.5)


GOOD = RunOutcome(
    values={"throughput": 1000.0, "energy": 5.0, "peak_memory": 3e9},
    stdev={"throughput": 10.0},
    repeats=3,
    cost_s=2.0,
    notes=("mind this",),
)
BAD = RunOutcome(status=Status.FAILED, reason="out of memory: 40 GB", cost_s=1.0)


@pytest.mark.parametrize("name", ["toy.journal", "sqlite:///{folder}/toy.db"])
def test_what_is_written_is_read_back_whole(tmp_path: Path, name: str) -> None:
    storage = name.format(folder=tmp_path) if "://" in name else str(tmp_path / name)
    log = log_of(storage)
    told(log, FIRST, GOOD)
    told(log, SECOND, BAD)
    first, second = SearchLog.open(storage).trials()
    assert first.configuration == FIRST
    assert first.evaluation == evaluation_of(GOOD, FIRST, OBJECTIVES, LIMITS)
    assert (first.notes, first.expected, first.elapsed_s) == (("mind this",), (2.0, 3.0), 1.5)
    assert second.evaluation == evaluation_of(BAD, SECOND, OBJECTIVES, LIMITS)
    assert (first.state, second.state) == ("COMPLETE", "FAIL")


@pytest.mark.parametrize("name", ["toy.journal", "toy.db"])
def test_a_log_reads_back_as_its_cases_exactly(tmp_path: Path, name: str) -> None:
    storage = str(tmp_path / name) if name.endswith("journal") else f"sqlite:///{tmp_path / name}"
    log = log_of(storage)
    told(log, FIRST, GOOD)
    told(log, SECOND, BAD)
    log.start(Suggestion(number=2, configuration=SECOND, origin="random"), SPACE, owner=worker(), until=None)
    cases = [item for item in read([tmp_path / name], PlainNames()) if isinstance(item, Case)]
    by_metric = {(case.measurement.metric, case.configuration): case for case in cases}
    assert set(by_metric) == {
        *((metric, FIRST) for metric in ("throughput", "energy", "peak_memory")),
        ("throughput", SECOND),
    }
    throughput = by_metric["throughput", FIRST]
    measurement = throughput.measurement
    assert (measurement.value, measurement.stdev, measurement.repeats) == (1000.0, 10.0, 3)
    assert throughput.problem.objective == OBJECTIVES[0]
    assert throughput.problem.workload.model == "bert-large"
    assert throughput.problem.hardware.count == 8
    assert throughput.source.title == "tunegraph search toy"
    assert throughput.kind is Kind.MEASURED
    assert throughput.software == Settings({"cann": "8.0"})
    failed = by_metric["throughput", SECOND].measurement
    assert failed.status is not Status.OK
    assert (failed.reason, failed.value) == ("out of memory: 40 GB", None)


def test_a_copy_reads_back_as_the_search(tmp_path: Path) -> None:
    log = log_of(str(tmp_path / "toy.journal"))
    log.start(Suggestion(number=0, configuration=FIRST, origin="random"), SPACE, owner="me", until=None)
    log.copy_to(tmp_path / "copy.journal")
    copy = SearchLog.open(str(tmp_path / "copy.journal"))
    assert (
        [one.configuration for one in copy.trials()] == [one.configuration for one in log.trials()] == [FIRST]
    )


def test_a_trial_left_by_a_dead_worker_is_queued_and_claimed_once(tmp_path: Path) -> None:
    log = log_of(str(tmp_path / "toy.journal"))
    left = log.start(
        Suggestion(number=0, configuration=FIRST, origin="random"), SPACE, owner="x:1:2", until=None
    )
    log.requeue(left)
    [waiting] = SearchLog.open(log.storage).trials()
    assert waiting.state == "WAITING"
    assert log.claim(waiting, owner="me", until=None)
    assert not SearchLog.open(log.storage).claim(waiting, owner="you", until=None)
    [running] = log.trials()
    assert (running.owner, running.configuration) == ("me", FIRST)


def test_a_worker_is_gone_when_its_process_is_or_its_time_is_long_over() -> None:
    mine = worker()
    assert not is_gone(mine, None, now=0)
    machine, _, birth = mine.split(":")
    assert is_gone(f"{machine}:1:{birth}0", None, now=0), "the number was given to another process"
    assert is_gone(f"{machine}:99999999:1", None, now=0)
    assert not is_gone("elsewhere:1:1", 1000.0, now=1050.0)
    assert is_gone("elsewhere:1:1", 1000.0, now=1061.0)


def test_a_half_written_line_is_cut_and_the_rest_stands(tmp_path: Path) -> None:
    path = tmp_path / "toy.journal"
    log = log_of(str(path))
    told(log, FIRST, GOOD)
    with path.open("ab") as stream:
        stream.write(b'{"op_code": 4, "worker_')
    again = SearchLog.open(str(path))
    assert len(again.trials()) == 1
    told(again, SECOND, BAD)
    assert len(SearchLog.open(str(path)).trials()) == 2
    for line in path.read_text().splitlines():
        json.loads(line)


def test_optuna_reads_the_journal_with_its_own_backend(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    path = tmp_path / "toy.journal"
    told(log_of(str(path)), FIRST, GOOD)
    backend = optuna.storages.journal.JournalFileBackend(str(path))
    study = optuna.load_study(study_name="toy", storage=optuna.storages.JournalStorage(backend))
    assert study.trials[0].params == FIRST.to_json()
    assert study.trials[0].values == [1000.0, 5.0]


def test_a_file_that_comes_back_is_waited_for_and_never_made_anew(tmp_path: Path) -> None:
    path, away = tmp_path / "toy.journal", tmp_path / "away"
    log = log_of(str(path), patience_s=20.0)
    path.rename(away)
    threading.Timer(0.4, lambda: away.rename(path)).start()
    told(log, FIRST, GOOD)
    assert len(SearchLog.open(str(path)).trials()) == 1


def test_a_file_that_stays_away_is_told_and_not_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "toy.journal"
    log = log_of(str(path), patience_s=0.3)
    path.unlink()
    with pytest.raises(WorkspaceError, match="cannot be reached: No such file"):
        told(log, FIRST, GOOD)
    assert not path.exists()


def test_a_database_that_is_locked_for_a_while_is_waited_for(tmp_path: Path) -> None:
    calls: list[float] = []

    def action() -> str:
        calls.append(time.monotonic())
        if len(calls) < 3:
            raise OSError(5, "Input/output error")
        return "done"

    assert patiently(action, "it", 5.0) == "done"
    assert calls[2] - calls[1] > calls[1] - calls[0], "it waits longer each time"


def test_a_search_that_was_killed_while_it_began_begins_again(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    log_of(str(whole))
    lines = whole.read_bytes().splitlines(keepends=True)
    for kept in range(len(lines)):
        path = tmp_path / f"cut{kept}"
        path.write_bytes(b"".join(lines[:kept]))
        with pytest.raises(InputError):
            SearchLog.open(str(path))
        log_of(str(path))
        assert SearchLog.open(str(path)).metadata == SearchLog.open(str(whole)).metadata
    assert len(lines) > 3


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("something\n")
    with pytest.raises(WorkspaceError, match="line 1 is no operation"):
        SearchLog.open(str(tmp_path / "a"))
    with pytest.raises(InputError, match="no search at"):
        SearchLog.open(str(tmp_path / "b"))
    with pytest.raises(WorkspaceError):
        StorageJournal(tmp_path / "no" / "folder", create=True)
    log_of(str(tmp_path / "c"))
    with pytest.raises(InputError, match="holds a search named 'toy' already"):
        log_of(str(tmp_path / "c"))
    with pytest.raises(InputError, match="no search named 'other'"):
        SearchLog.open(str(tmp_path / "c"), name="other")


def test_a_dashboard_finds_the_names_of_the_objectives(tmp_path: Path) -> None:
    log = log_of(str(tmp_path / "toy.journal"))
    assert log.study().metric_names == ["throughput", "energy"]


def test_a_log_of_a_later_release_is_refused_as_such(tmp_path: Path) -> None:
    path = tmp_path / "toy.journal"
    log_of(str(path))
    path.write_text(
        path.read_text().replace('"schema": 1', '"schema": 2').replace('"schema":1', '"schema":2')
    )
    with pytest.raises(InputError, match=r"later release \(schema 2, here 1\)") as refused:
        SearchLog.open(str(path))
    assert "upgrade" in refused.value.hint
