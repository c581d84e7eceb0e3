"""The sections of a search file that evaluate configurations."""

import re

import pytest

from kg.errors import InfeasibleError, InputError
from recommender.search.run import number_sources
from recommender.search.run.number_sources import (
    Assumption,
    FitTally,
    fit_notes,
    model_request,
    read_number_source,
    source_of_numbers,
)
from recommender.search.run.task_file import TaskFile
from recommender.search.run.task_reader import read_task


def test_an_assumption_says_what_and_why() -> None:
    assert str(Assumption(name="cores", value=1.5e6)) == "assumed: cores = 1.5e+06"
    assert (
        str(Assumption(name="link", value="NVLink", reason="its sheet"))
        == "assumed: link = NVLink (its sheet)"
    )


def test_numbers_come_from_one_place() -> None:
    assert source_of_numbers({"command": ["a"]}) == "command"
    assert not source_of_numbers({})
    with pytest.raises(InputError, match="command and cost_model"):
        source_of_numbers({"command": ["a"], "cost_model": {"model": "b"}})


@pytest.mark.parametrize(
    ("checked", "complete", "memory", "note"),
    [
        (8, True, 0, ""),
        (8, True, 3, "leaves out 3 by memory, of 8 configurations that"),
        (8, True, 8, None),
        (8, False, 8, "leaves out 8 by memory, of 8 configurations drawn at random"),
    ],
)
def test_only_a_whole_space_of_which_nothing_is_left_is_refused(
    checked: int, complete: bool, memory: int, note: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    tally = FitTally(
        checked=checked, complete=complete, removed={"memory": memory, "precision": 0}, least_bytes=9e10
    )
    monkeypatch.setattr(number_sources, "fit_tally", lambda *_, **__: tally)
    raw = {"parameters": {"x": [1, 2]}, "objectives": [{"metric": "kernel_time", "unit": "s"}]}
    task = read_task(TaskFile(raw, name="t"))
    if note is None:
        with pytest.raises(InfeasibleError, match="nothing is left") as caught:
            fit_notes(task)
        assert caught.value.hint == "at least 90.0 GB of a device are needed"
    else:
        assert [note in text for text in fit_notes(task)] == [True] * bool(note)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"command": 7}, "command: a list of program and arguments"),
        ({"command": {"a": 1}}, "command: a list of program and arguments"),
        ({"command": ["a"], "inputs": {"n": 1}}, "inputs: a list of names and values"),
        ({"command": ["a"], "inputs": [1]}, "inputs: a list of names and values"),
        ({"cost_model": {"model": "qwen3-8b"}}, "cost_model: which model on which hardware?"),
        ({"command": ["a"], "inputs": [{"n": 1}]}, ""),
        ({"cost_model": {"model": "qwen3-8b", "hardware": "910B3"}}, ""),
    ],
)
def test_what_numbers_come_from_is_whole(section: dict[str, object], message: str) -> None:
    file = TaskFile({"parameters": {"x": [1, 2]}, "objectives": ["throughput"], **section}, name="t")
    read = model_request if "cost_model" in section else read_number_source
    if message:
        with pytest.raises(InputError, match=re.escape(message)):
            read(file)
    else:
        assert read(file) is not None
