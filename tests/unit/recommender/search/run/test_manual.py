"""Trials asked for and told by hand: each once, in the units of the search."""

from pathlib import Path
from typing import Any

import pytest

from kg.errors import InputError
from kg.nouns.entities import Status
from recommender.search.log.metadata import SearchMetadata
from recommender.search.log.study import SearchLog
from recommender.search.run.assembly import task_of
from recommender.search.run.manual import ask_trials, replay_log, tell_trial
from recommender.search.run.task_file import TaskFile
from recommender.search.run.task_reader import read_task

RAW: dict[str, Any] = {
    "parameters": {"x": [0, 1, 2]},
    "constraints": ["x < 2"],
    "objectives": [{"metric": "kernel_time", "unit": "s"}],
    "limits": ["energy<=2J"],
}


@pytest.fixture
def log(tmp_path: Path) -> SearchLog:
    task = read_task(TaskFile(RAW, name="toy"))
    metadata = SearchMetadata(file=RAW, digest=task.digest)
    storage = str(tmp_path / "toy.journal")
    return SearchLog.create(storage, name="toy", objectives=task.objectives, metadata=metadata, record={})


def test_each_configuration_is_asked_for_once(log: SearchLog) -> None:
    asked = ask_trials(log, 1) + ask_trials(log, 5)
    assert sorted(int(str(one.configuration["x"])) for one in asked) == [0, 1]
    with pytest.raises(InputError, match="every configuration was evaluated, or is being evaluated"):
        ask_trials(log, 1)
    assert tell_trial(log, asked[0].number, None, {"time": "2ms", "energy": "1.5"}, None) == asked[0].number
    search, trials = replay_log(log, task_of(log))
    assert [one.state for one in trials].count("RUNNING") == 1
    assert search.ask(1) == []


def test_what_is_told_is_written_in_the_units_of_the_search(log: SearchLog) -> None:
    tell_trial(log, None, {"x": 0}, {"kernel_time": "2.5 ms", "energy": "1500mJ"}, None)
    tell_trial(log, None, {"x": 1}, {}, "")
    first, failed = (one.evaluation for one in log.trials())
    assert first is not None
    assert failed is not None
    assert first.values == pytest.approx((2.5e-3, 1.5))
    assert (failed.status, failed.reason) == (Status.FAILED, "failed")


@pytest.mark.parametrize(
    ("number", "configuration", "values", "says"),
    [
        (None, None, {}, "by its number, or of a configuration"),
        (0, {"x": 0}, {}, "by its number, or of a configuration"),
        (7, None, {"time": "1s"}, "has no trial 7"),
        (None, {"x": 2}, {"time": "1s", "energy": "1J"}, "breaks a constraint"),
        (None, {"x": 0}, {"energy": "1J"}, "kernel_time"),
        (None, {"x": 0}, {"throughput": "1"}, "does not ask for throughput"),
        (None, {"x": 0}, {"time": "soon"}, "time=soon: no number"),
        (None, {"x": 0}, {"time": "1 furlong"}, "time=1 furlong: "),
        (None, {"x": 0}, {"time": "1J"}, "time is told in s, not in J"),
    ],
)
def test_what_cannot_be_told_is_named(
    log: SearchLog,
    number: int | None,
    configuration: dict[str, object] | None,
    values: dict[str, str],
    says: str,
) -> None:
    with pytest.raises(InputError) as fault:
        tell_trial(log, number, configuration, values, None)
    assert says in str(fault.value)
    assert log.trials() == []


def test_a_trial_is_told_once(log: SearchLog) -> None:
    [trial] = ask_trials(log, 1)
    tell_trial(log, trial.number, None, {}, "it burns")
    with pytest.raises(InputError, match=f"trial {trial.number} was told already"):
        tell_trial(log, trial.number, None, {}, "again")
