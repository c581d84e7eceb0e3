"""Parts of a search, put together from its file."""

import sys
from pathlib import Path
from typing import Any

import pytest

from kg.errors import InputError
from recommender.search.run.assembly import SearchPlace, evaluator_of
from recommender.search.run.task_file import TaskFile
from recommender.search.run.task_reader import read_task


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        ([sys.executable, "{x}"], True),
        (["./beside", "{x}"], True),
        (["beside", "{x}"], False),  # the folder is no place of programs
        (["./nowhere", "{x}"], False),
        (["on-path", "{x}"], True),
        (["no-such-program", "{x}"], False),
        ("no-such-program {x}", True),  # the shell finds it, or not
    ],
)
def test_a_program_that_is_not_there_is_told_before_the_search(
    command: list[str] | str, runs: bool, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    for program in (tmp_path / "beside", tmp_path / "bin" / "on-path"):
        program.write_text("")
        program.chmod(0o755)
    raw: dict[str, Any] = {
        "parameters": {"x": [1, 2]},
        "objectives": ["kernel_time"],
        "metrics": {"kernel_time": {"pattern": "time: ([0-9.]+)", "unit": "s"}},
        "command": command,
        "timeout_s": 5,
        "repeats": 3,
        "inputs": [{"n": 1}, {"n": 2}],
    }
    place = SearchPlace(folder=tmp_path, base={"PATH": str(tmp_path / "bin")})
    task = read_task(TaskFile(raw, name="t"))
    if runs:
        evaluator, longest_s = evaluator_of(task, place)
        assert evaluator is not None
        assert longest_s == 5 * 3 * 2
    else:
        with pytest.raises(InputError, match="no such program"):
            evaluator_of(task, place)


def test_a_command_runs_once_and_is_not_warmed_up_unless_told(tmp_path: Path) -> None:
    raw: dict[str, Any] = {
        "parameters": {"x": [1, 2]},
        "objectives": ["kernel_time"],
        "metrics": {"kernel_time": {"pattern": "time: ([0-9.]+)", "unit": "s"}},
        "command": [sys.executable, "{x}"],
        "timeout_s": 5,
    }
    _, longest_s = evaluator_of(read_task(TaskFile(raw, name="t")), SearchPlace(folder=tmp_path, base={}))
    assert longest_s == 5
