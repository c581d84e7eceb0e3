"""The metadata of a search: written and read back, also from logs of version 0.1.0 as it was before tasks."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from kg.nouns.entities import Kind
from kg.nouns.values import Settings
from recommender.search.evaluations import SourceTable
from recommender.search.log.metadata import (
    ProgramStamp,
    SearchMetadata,
    sources_from_json,
    sources_to_json,
)
from recommender.search.log.study import SearchLog
from recommender.search.report.result import Result
from recommender.search.run.assembly import model_of_task, runner_of, task_of
from recommender.search.run.task import TaskCommand, TaskModel

OLD = Path(__file__).parent / "old"


def old_log(name: str, folder: Path) -> SearchLog:
    """A copy of a log that an earlier version wrote."""
    return SearchLog.open(shutil.copy(str(OLD / f"{name}.journal"), str(folder)))


def test_metadata_is_read_back_as_it_was_written() -> None:
    metadata = SearchMetadata(
        file={"parameters": {"x": [1, 2]}},
        digest="abc",
        seed=3,
        folder="/a",
        program=ProgramStamp(version="1", code="2", files={"a.py": "3"}),
        environment={"processor": "p"},
        allow_unmeasured_accuracy=True,
        notes=("a note",),
        stop_reason="budget",
    )
    assert SearchMetadata.from_json(metadata.to_json()) == metadata
    assert SearchMetadata.from_json(SearchMetadata().to_json()) == SearchMetadata()


def test_sources_are_read_back_with_their_failures() -> None:
    table = SourceTable(
        name="a",
        similarity=0.5,
        configurations=[Settings({"x": 1}), Settings({"x": 2})],
        costs=np.array([1.5, np.inf]),
        problem_id="p",
    )
    [again] = sources_from_json(sources_to_json([table]))
    assert (again.name, again.similarity, again.problem_id) == ("a", 0.5, "p")
    assert list(again.configurations) == list(table.configurations)
    assert again.costs.tolist() == [1.5, np.inf]


@pytest.mark.parametrize("name", ["measured", "modelled", "modelled_memory"])
def test_an_old_log_reads_as_the_task_that_it_began_with(tmp_path: Path, name: str) -> None:
    log = old_log(name, tmp_path)
    task = task_of(log)
    assert task.digest == log.metadata.digest
    assert log.metadata.folder == "/somewhere"
    assert log.metadata.program is not None
    assert log.metadata.program.version == "0.1.0"


def test_an_old_measured_log_keeps_its_command_and_result(tmp_path: Path) -> None:
    log = old_log("measured", tmp_path)
    task = task_of(log)
    assert isinstance(task.number_source, TaskCommand)
    assert task.number_source.words == ("python3", "toy.py", "{tile}", "{unroll}")
    assert (task.number_source.repeats, task.number_source.environment) == (2, {"TILE": "{tile}"})
    assert task.stop.evaluations == 3
    assert log.metadata.stop_reason == "budget of 3 evaluations used"
    result = Result.of(log, task)
    assert len(result.evaluations) == 3
    assert result.gain() == pytest.approx(0.0)


def test_an_old_modelled_log_goes_on_without_a_workspace(tmp_path: Path) -> None:
    log = old_log("modelled", tmp_path)
    task = task_of(log)
    assert isinstance(task.number_source, TaskModel)
    assert task.kind is Kind.MODELLED
    assert model_of_task(task).question.machine.count == 8
    runner = runner_of(log, base={}, more={"stop": {"evaluations": 5}})
    assert runner.run() == "budget of 5 evaluations used"
    best = Result.of(log, task).best()
    assert best is not None
    assert best.values[0] == pytest.approx(2.405e5, rel=1e-3)
    assert SearchLog.open(log.storage).metadata.file["stop"] == {"evaluations": 5}


def test_an_old_log_keeps_the_rule_of_the_modelled_memory(tmp_path: Path) -> None:
    task = task_of(old_log("modelled_memory", tmp_path))
    assert task.number_source is None
    [rule] = [item for item in task.space.constraints if item.holds is not None]
    assert "77.5 GB" in rule.reason
    assert "20%" in rule.reason
