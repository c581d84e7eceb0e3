"""Where a step lies among others, and measured runs as a log of a search keeps them."""

import json
from dataclasses import replace

import pytest

from kg.errors import InputError
from recommender.cost_model.measured.step_place import PricedRun, StepPlace
from recommender.cost_model.question import Question
from recommender.workspace.workspace import Workspace

SIZES = {
    "tensor_parallel": 4,
    "pipeline_parallel": 2,
    "expert_parallel": 8,
    "micro_batch": 2,
    "seq_len": 4096,
}


def question(workspace: Workspace, phase: str) -> Question:
    problem, _ = workspace.problem(
        {"model": "qwen3-30b-a3b", "phase": phase, "hardware": "910b3", "count": 8}
    )
    return replace(
        Question.of(problem, workspace.ask.model_facts(problem), workspace.hardware), engine="mindspeed-llm"
    )


def test_a_training_step_lies_by_its_sizes_and_micro_batch(shipped: Workspace) -> None:
    place = question(shipped, "training").place({**SIZES, "precision": "bf16"})
    assert (place.engine, place.device, place.precision) == ("mindspeed-llm", "ascend-910b3", "bf16")
    assert (place.lengths, place.layout, place.load) == ((12.0,), (2.0, 1.0, 0.0, 3.0), 1.0)


def test_experts_of_a_server_are_spread_or_not(shipped: Workspace) -> None:
    serving = question(shipped, "serving")
    settings = {**SIZES, "batch": 32, "input_len": 1024, "output_len": 256}
    place = serving.place(settings)
    assert (place.lengths, place.layout, place.load) == ((10.0, 8.0), (2.0, 1.0, 0.0, 2.0), 5.0)
    assert serving.place({**settings, "expert_parallel": 4}) == place
    assert serving.place({**settings, "expert_parallel": 1}).layout[-1] == 0.0


RUN = PricedRun(
    place=StepPlace(
        engine="vllm", device="b200", precision="fp8", lengths=(10.0, 8.0), layout=(1.0, 0.0, 0.0, 2.0), load=6.0
    ),
    group="p",
    log_ratio=-0.25,
)  # fmt: skip


def test_a_run_comes_back_from_json() -> None:
    assert PricedRun.from_json(json.loads(json.dumps(RUN.to_json()))) == RUN


@pytest.mark.parametrize("content", [{}, {**RUN.to_json(), "place": {"engine": "vllm"}}])
def test_what_is_no_run_is_refused(content: dict[str, object]) -> None:
    with pytest.raises(InputError, match="is missing"):
        PricedRun.from_json(content)
