"""The cost model as an objective, and files of searches."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from kg.errors import CaseFormatError, InputError
from kg.nouns.entities import Kind, Status
from kg.nouns.values import Settings
from recommender.search.run.assembly import model_of_task, source_of_numbers
from recommender.search.run.task_file import read_task_file, shipped_names

if TYPE_CHECKING:
    from pathlib import Path

    from recommender.workspace import Workspace

LAYOUT = {"tensor_parallel": 1, "pipeline_parallel": 1, "micro_batch": 8, "zero_stage": 0}


@pytest.fixture
def prepared(shipped: Workspace, tmp_path: Path) -> dict[str, object]:
    """The founding scenario with its facts."""
    raw, _ = read_task_file("bert-large-8x910")
    found = shipped.prepare_search(raw, name="x", folder=tmp_path, base={}, cold=True)
    return dict(found.task.raw)


def test_it_gives_throughput_memory_and_energy_and_says_that_they_are_modelled(
    prepared: dict[str, object],
) -> None:
    model = model_of_task(prepared)
    assert model.kind is Kind.MODELLED
    outcome = model.evaluate(Settings(LAYOUT), threading.Event())
    assert {"throughput", "peak_memory", "energy", "step_time"} <= set(outcome.values)
    tokens = 512 * 128
    assert outcome.values["throughput"] * outcome.values["step_time"] == pytest.approx(tokens)


def test_what_cannot_be_or_does_not_fit_is_a_failure(prepared: dict[str, object]) -> None:
    model = model_of_task(prepared)
    wrong = model.evaluate(Settings({**LAYOUT, "tensor_parallel": 3}), threading.Event())
    assert wrong.status is not Status.OK
    assert "layout" in wrong.reason
    section = dict(prepared["cost_model"])  # type: ignore[call-overload]  # JSON
    section["fixed"] = {**section["fixed"], "seq_len": 16384, "global_batch": 64}
    long = model_of_task({**prepared, "cost_model": section})
    full = long.evaluate(Settings({**LAYOUT, "micro_batch": 8, "flash_attention": 0}), threading.Event())
    assert full.reason.startswith("out of memory")


def test_a_log_needs_no_workspace_to_go_on(prepared: dict[str, object]) -> None:
    import json

    again = json.loads(json.dumps(prepared))
    before = model_of_task(prepared).evaluate(Settings(LAYOUT), threading.Event())
    after = model_of_task(again).evaluate(Settings(LAYOUT), threading.Event())
    assert after.values == before.values


def test_every_shipped_search_can_be_prepared(shipped: Workspace, tmp_path: Path) -> None:
    assert {"matmul", "bert-large-8x910", "bert-large-8x910b3"} <= set(shipped_names())
    for name in shipped_names():
        raw, _ = read_task_file(name)
        found = shipped.prepare_search(raw, name=name, folder=tmp_path, base={"PATH": "/usr/bin:/bin"})
        assert found.task.default is not None
        assert found.task.space.violated(found.task.default) is None


def test_numbers_come_from_one_place() -> None:
    assert source_of_numbers({"command": ["a"]}) == "command"
    assert not source_of_numbers({})
    with pytest.raises(InputError, match="command and table"):
        source_of_numbers({"command": ["a"], "table": "b"})


def test_a_file_is_yaml_of_names_and_values(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("- 1\n")
    with pytest.raises(CaseFormatError, match="names and values"):
        read_task_file(str(tmp_path / "a.yaml"))
    with pytest.raises(InputError, match="no search file"):
        read_task_file(str(tmp_path / "b.yaml"))
