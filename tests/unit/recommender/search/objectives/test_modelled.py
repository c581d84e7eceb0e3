"""The cost model as an objective, and files of searches."""

import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kg.nouns.entities import Kind, Status
from kg.nouns.values import Settings
from recommender.search.objectives.modelled import CostModel, question_of_section
from recommender.search.run.task_file import read_task_file
from recommender.workspace.workspace import Workspace

LAYOUT = {"tensor_parallel": 1, "pipeline_parallel": 1, "micro_batch": 8, "zero_stage": 0}


@pytest.fixture
def section(shipped: Workspace, tmp_path: Path) -> dict[str, Any]:
    """The section of the founding scenario, with its facts."""
    file = read_task_file("bert-large-8x910")
    prepared = shipped.searches.prepare(replace(file, folder=tmp_path), base={}, cold=True)
    return dict(prepared.metadata.file["cost_model"])


def test_it_gives_throughput_memory_and_energy_and_says_that_they_are_modelled(
    section: dict[str, Any],
) -> None:
    model = CostModel(question=question_of_section(section))
    assert model.kind is Kind.MODELLED
    outcome = model.evaluate(Settings(LAYOUT), threading.Event())
    assert {"throughput", "peak_memory", "energy", "step_time"} <= set(outcome.values)
    tokens = 512 * 128
    assert outcome.values["throughput"] * outcome.values["step_time"] == pytest.approx(tokens)


def test_what_cannot_be_or_does_not_fit_is_a_failure(section: dict[str, Any]) -> None:
    model = CostModel(question=question_of_section(section))
    wrong = model.evaluate(Settings({**LAYOUT, "tensor_parallel": 3}), threading.Event())
    assert wrong.status is not Status.OK
    assert "layout" in wrong.reason
    section["fixed"] = {**section["fixed"], "seq_len": 16384, "global_batch": 64}
    long = CostModel(question=question_of_section(section))
    full = long.evaluate(Settings({**LAYOUT, "micro_batch": 8, "flash_attention": 0}), threading.Event())
    assert full.reason.startswith("out of memory")


def test_a_log_needs_no_workspace_to_go_on(section: dict[str, Any]) -> None:
    again = json.loads(json.dumps(section))
    before, after = (
        CostModel(question=question_of_section(item)).evaluate(Settings(LAYOUT), threading.Event())
        for item in (section, again)
    )
    assert after.values == before.values


@pytest.mark.parametrize("changed", [{}, {"tensor_parallel": 3}])
def test_an_estimate_costs_the_time_that_it_took(section: dict[str, Any], changed: dict[str, int]) -> None:
    model, began = CostModel(question=question_of_section(section)), time.monotonic()
    outcome = model.evaluate(Settings({**LAYOUT, **changed}), threading.Event())
    assert 0 < outcome.cost_s <= time.monotonic() - began
