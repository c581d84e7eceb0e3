"""A search in its log: run on, told by people, joined by a worker, reported; no workspace is open."""

import json
from pathlib import Path

import pytest

from kg.errors import InputError
from recommender.search.logged_search import LoggedSearch
from recommender.search.run.runner import Progress
from recommender.search.run.task_file import TaskFile
from recommender.workspace.workspace import Workspace

TIMES_MS = {(tile, warps): 8.0 / tile + warps for tile in (1, 2, 4, 8) for warps in (1, 2)}
BEST = {"tile": 8, "warps": 1}


@pytest.fixture
def search(empty_path: Path, tmp_path: Path) -> LoggedSearch:
    """A search of a command, just begun."""
    raw = {
        "parameters": {"tile": [1, 2, 4, 8], "warps": [1, 2]},
        "default": {"tile": 1, "warps": 2},
        "command": 'echo "{\\"t\\": $((8000 / tile + 1000 * warps)) }"',
        "environment": {"tile": "{tile}", "warps": "{warps}"},
        "metrics": {"kernel_time": {"path": "t", "unit": "us"}},
        "stop": {"evaluations": 3},
    }
    with Workspace.open(empty_path, cache=tmp_path) as workspace:
        return workspace.search(
            TaskFile(raw, name="toy", folder=tmp_path), log=str(tmp_path / "toy.journal"), base={}
        )


def test_a_search_runs_on_from_its_log_alone(search: LoggedSearch) -> None:
    steps: list[Progress] = []
    assert search.run(base={}, on_progress=steps.append) == "budget of 3 evaluations used"
    assert [item.done for item in steps if item.trial is not None] == [1, 2, 3]
    again = LoggedSearch.open(search.storage)
    again.run(base={}, more={"stop": {"evaluations": 8}})
    best = again.result().best()
    assert best is not None
    assert dict(best.configuration) == BEST
    assert best.values[0] == pytest.approx(1e-3 * min(TIMES_MS.values()))


def test_people_ask_and_tell(search: LoggedSearch) -> None:
    [first, second] = search.ask(2)
    assert first.configuration != second.configuration
    assert search.tell(first.number, values={"kernel_time": "2ms"}) == first.number
    search.tell(second.number, failed="no such warp")
    result = search.result()
    assert [item.ok for item in result.evaluations] == [True, False]
    with pytest.raises(InputError, match="was told already"):
        search.tell(first.number, values={"kernel_time": "3ms"})


def test_a_worker_counts_its_share(search: LoggedSearch) -> None:
    [trial] = search.ask(1)
    search.tell(trial.number, values={"kernel_time": "2ms"})
    notes: list[str] = []
    share = search.join(base={}, jobs=1, on_note=notes.append)
    assert (share.evaluated, share.evaluations, share.requeued, share.dropped) == (2, 3, 0, 0)
    assert share.to_json()["stop_reason"] == "budget of 3 evaluations used"
    assert notes == [f"joined toy in {search.storage}, of which 1 evaluations have ended"]


def test_a_report_splits_the_gain_over_the_parameters(search: LoggedSearch) -> None:
    search.run(base={}, more={"stop": {"evaluations": 8}})
    report = search.report(base={})
    gain = report.result.gain()
    assert report.missing == ""
    assert sum(item.log_gain for item in report.contributions) == pytest.approx(gain)
    assert {name for item in report.contributions for name in item.names} == {"tile", "warps"}
    assert report.to_json()["contributions"] != []


def test_without_a_default_a_report_says_what_is_missing(search: LoggedSearch) -> None:
    report = search.report(base={})
    assert "a default" in report.missing
    assert report.contributions == []
    assert report.course.figures is None


def test_another_space_is_refused(search: LoggedSearch, tmp_path: Path) -> None:
    file = tmp_path / "other.yaml"
    file.write_text(json.dumps({**search.log.metadata.file, "parameters": {"tile": [1, 2], "warps": [1, 2]}}))
    with pytest.raises(InputError, match="tile"):
        search.check_file(str(file))


def test_the_journal_of_a_file_is_that_file(search: LoggedSearch, tmp_path: Path) -> None:
    assert search.journal(tmp_path) == tmp_path / "toy.journal"
