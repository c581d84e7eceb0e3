"""Which measured runs are near a question."""

from pathlib import Path
from typing import Any

import pytest

from recommender.cost_model.question import Question
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.ranking.measured.served_cases import DEVICE, MODEL, case, with_cases

ASKED = {"input_len": 1024, "output_len": 1024}


def question(workspace: Workspace, model: str = MODEL, device: str = DEVICE, **shape: int) -> Question:
    problem, _ = workspace.problem(
        {"model": model, "phase": "serving", "hardware": device, "count": 8, "shape": {**ASKED, **shape}}
    )
    return Question.of(problem, workspace.ask.model_facts(problem), workspace.hardware)


@pytest.mark.parametrize("metric", [{}, {"metric": "tpot", "unit": "ms", "better": "lower"}])
def test_runs_of_the_network_are_near_whatever_is_counted(
    shipped_path: Path, tmp_path: Path, metric: dict[str, Any]
) -> None:
    value = 20.0 if metric else 3000
    with with_cases(shipped_path, tmp_path, case(value, **metric)) as workspace:
        asked = workspace.snapshot.near_runs.about(question(workspace))
        assert len(asked.measured.runs) == 1
        assert not workspace.snapshot.near_runs.near(question(workspace, "mixtral-8x7b"))
        assert not workspace.snapshot.near_runs.near(question(workspace, device="gaudi-3"))  # of arrays


def test_a_time_to_the_first_token_says_nothing_of_steps(shipped_path: Path, tmp_path: Path) -> None:
    with with_cases(
        shipped_path, tmp_path, case(200.0, metric="ttft", unit="ms", better="lower")
    ) as workspace:
        assert not workspace.snapshot.near_runs.near(question(workspace))


def test_a_later_training_of_the_network_is_near_and_another_size_is_not(
    shipped_path: Path, tmp_path: Path
) -> None:
    cases = [case(3000, model="llama-3.1-70b"), case(9000, model="llama-3.1-8b")]
    with with_cases(shipped_path, tmp_path, *cases) as workspace:
        [run] = workspace.snapshot.near_runs.near(question(workspace))
    assert run.trial.measurement.value == 3000


def test_published_runs_are_nobodys_own(shipped: Workspace) -> None:
    asked = {"model": "qwen3-235b-a22b", "phase": "serving", "hardware": "ascend-910c", "count": 16}
    problem, _ = shipped.problem(asked)
    runs = shipped.snapshot.near_runs
    assert not runs.lengths(problem)  # vLLM Ascend's tests have published 3,500 and 1,500
    assert not runs.program(problem)
