"""Who may take part in a search: the same program and the same files; another machine is only said."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kg.errors import InputError
from recommender.search.log.metadata import SearchMetadata
from recommender.search.log.study import SearchLog
from recommender.search.run.compatibility import check, differences, program_stamp
from recommender.search.run.task import TaskCommand
from recommender.search.run.task_file import TaskFile
from recommender.search.run.task_reader import read_task

RAW: dict[str, Any] = {
    "parameters": {"x": [0, 1]},
    "metrics": {"kernel_time": {"path": "t", "unit": "s"}},
    "command": ["python3", "bench.py", "--conf=a.cfg", "{x}", "/bin/sh"],
}


def begun(place: Path, **more: Any) -> SearchLog:
    """A search that was begun in a folder with two files."""
    (place / "bench.py").write_text("1")
    (place / "unused").write_text("1")
    task = read_task(TaskFile(RAW, name="toy"))
    stamp = program_stamp(task.number_source, place)
    metadata = SearchMetadata(file=RAW, digest=task.digest, program=stamp, **more)
    return SearchLog.create(
        str(place / "toy.journal"), name="toy", objectives=task.objectives, metadata=metadata, record={}
    )


def faults(log: SearchLog, folder: Path) -> str:
    """Why a search cannot be joined from a folder."""
    with pytest.raises(InputError) as fault:
        check(log, read_task(TaskFile(RAW, name="toy")), folder)
    return f"{fault.value} {fault.value.hint}"


def test_the_same_files_may_take_part(tmp_path: Path) -> None:
    log = begun(tmp_path)
    assert log.metadata.program is not None
    assert list(log.metadata.program.files) == ["bench.py"]
    check(log, read_task(TaskFile(RAW, name="toy")), tmp_path)


def test_a_file_that_is_missing_or_another_is_named(tmp_path: Path) -> None:
    log = begun(tmp_path)
    assert f"{tmp_path / 'no'}, which is not on this machine" in faults(log, tmp_path / "no")
    (tmp_path / "bench.py").write_text("2")
    assert "bench.py is another" in faults(log, tmp_path)
    (tmp_path / "bench.py").unlink()
    assert "bench.py is missing" in faults(log, tmp_path)


def test_another_program_or_space_is_named(tmp_path: Path) -> None:
    log = begun(tmp_path)
    began = log.metadata
    assert began.program is not None
    version, code = replace(began.program, version="9.9"), replace(began.program, code="abc")
    for program, other in ((version, "9.9"), (code, "abc")):
        log.metadata = replace(began, program=program)
        said = faults(log, tmp_path)
        assert other in said
        assert "install the same" in said
    log.metadata = replace(began, digest="another")
    assert "space, objectives or limits" in faults(log, tmp_path)
    log.metadata = replace(began, program=None)
    assert "no workers" in faults(log, tmp_path)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python3 bench.py {x} && ./bench.py", ["./bench.py", "bench.py"]),
        ("python3 'bench.py {x}", []),
        (["sh", "a" * 5000, "{x}", "\0"], []),
    ],
)
def test_files_of_a_command(tmp_path: Path, command: str | list[str], expected: list[str]) -> None:
    (tmp_path / "bench.py").write_text("1")
    words = command if isinstance(command, str) else tuple(command)
    assert sorted(program_stamp(TaskCommand(words=words), tmp_path).files) == expected


def test_another_machine_is_said(tmp_path: Path) -> None:
    log = begun(
        tmp_path, environment={"processor": "A", "accelerators": ["N1", "N1"], "software": {"cann": "8"}}
    )
    here = {"processor": "A", "software": {"cann": "9"}}
    assert differences(log, here) == [
        "accelerators: none here, N1, N1 there",
        "software: cann 9 here, cann 8 there",
    ]
