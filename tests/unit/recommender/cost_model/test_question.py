"""The one question: a server stands for its device, a problem's own sizes win, a log keeps the facts."""

import json
from typing import Any

import pytest

from kg.errors import InputError, MissingFactError
from recommender.cost_model.estimate import estimate_question
from recommender.cost_model.machine import device_and_server, machine
from recommender.cost_model.question import Question, QuestionFacts
from recommender.workspace.workspace import Workspace

SERVING = {"model": "qwen3-8b", "phase": "serving", "count": 16, "shape": {"input_len": 1024}}


def asked(shipped: Workspace, *, server: str = "", **more: Any) -> Question:
    problem, _ = shipped.problem({**SERVING, **more})
    return Question.of(problem, shipped.ask.model_facts(problem), shipped.hardware, server=server)


def test_a_server_is_its_device_inside_it(shipped: Workspace) -> None:
    assert device_and_server(shipped.hardware, "atlas-800i-a3") == ("ascend-910c", "atlas-800i-a3")
    assert device_and_server(shipped.hardware, "ascend-910c") == ("ascend-910c", "")
    assert device_and_server(shipped.hardware, "of nobody") == ("of nobody", "")
    as_device = asked(shipped, hardware="atlas-800i-a3")
    stated = asked(shipped, hardware="ascend-910c", server="atlas-800i-a3")
    assert as_device == stated
    assert as_device.machine.device.id == "ascend-910c"
    assert as_device.machine.network.id == "atlas-800i-a3"


def test_settings_are_lengths_precision_and_what_is_set_now(shipped: Workspace) -> None:
    question = asked(
        shipped,
        hardware="atlas-800i-a3",
        precision="bfloat16",
        shape={"input_len": 1024, "output_len": 128, "M": 3},
        current={"--tensor-parallel-size": 4, "own_knob": 1},
    )
    assert question.settings == {
        "input_len": 1024,
        "output_len": 128,
        "precision": "bfloat16",
        "tensor_parallel": 4,
    }
    assert question.ignored == ("own_knob",)
    assert question.configuration({"tensor_parallel": 8})["tensor_parallel"] == 8


def test_lengths_count_by_any_of_their_names_and_as_traits(shipped: Workspace) -> None:
    stated = asked(shipped, hardware="910b3", shape={"isl": 3000}, traits={"output_len": 70}).settings
    assert (stated["input_len"], stated["output_len"]) == (3000, 70)


@pytest.mark.parametrize(
    ("share", "current", "hit"),
    [
        (0.9, {}, 0.9),
        (1.0, {}, 0.999),  # the end of each is computed in any case
        (0, {}, 0),
        (0.9, {"enable_prefix_caching": False}, 0),
    ],
)
def test_what_prompts_share_is_found_in_the_cache_where_it_is_on(
    shipped: Workspace, share: float, current: dict[str, object], hit: float
) -> None:
    told = asked(
        shipped,
        hardware="910b3",
        software={"vllm-ascend": ""},
        traits={"shared_prefix_share": share},
        current=current,
    )
    assert told.settings["prefix_hit"] == hit


@pytest.mark.parametrize(("lora", "rank"), [(True, 16), (False, 0)])
def test_adapters_that_are_told_are_trained(shipped: Workspace, lora: bool, rank: int) -> None:
    told = asked(shipped, phase="training", hardware="910b3", shape={}, traits={"lora": lora})
    assert told.settings["lora_rank"] == rank


def test_a_log_keeps_the_facts(shipped: Workspace) -> None:
    problem, _ = shipped.problem({**SERVING, "hardware": "ascend-910c"})
    sizes = shipped.ask.model_facts(problem)
    facts = QuestionFacts.look_up("qwen3-8b", sizes, shipped.hardware, "ascend-910c", "atlas-800i-a3")
    assert QuestionFacts.from_json(json.loads(json.dumps(facts.to_json()))) == facts
    alone = QuestionFacts.look_up("qwen3-8b", sizes, shipped.hardware, "ascend-910c")
    assert alone.to_json()["server"] is None
    assert QuestionFacts.from_json(alone.to_json()) == alone


def test_an_assumption_fills_gaps_and_replaces_no_fact_of_the_device(shipped: Workspace) -> None:
    assumed = {"memory_bytes": 1.0, "made_up": 2.0, "device_count": 3.0}
    facts = QuestionFacts.look_up("m", {}, shipped.hardware, "ascend-910c", "atlas-800i-a3", assumed=assumed)
    assert facts.device_facts["memory_bytes"] == shipped.hardware.facts("ascend-910c")["memory_bytes"]
    assert facts.device_facts["made_up"] == 2.0
    assert "device_count" not in facts.server_facts


def test_the_estimate_is_that_of_the_parts(shipped: Workspace) -> None:
    question = asked(shipped, hardware="atlas-800i-a3")
    one, two = estimate_question(question, [{"batch": 1}, {"batch": 64}]).throughput
    assert two > one > 0


def test_what_the_cost_model_cannot_be_asked_is_refused(shipped: Workspace) -> None:
    problem, _ = shipped.problem({**SERVING, "hardware": "ascend-910c"})
    sizes = shipped.ask.model_facts(problem)
    with pytest.raises(InputError, match="no phase named 'tuning'"):
        Question.of(problem, sizes, shipped.hardware, phase="tuning")
    with pytest.raises(InputError, match="at least one is needed"):
        machine("chip", {}, count=0)


@pytest.mark.parametrize(
    ("hardware", "more", "precision"),
    [
        ("h200", {}, "fp8"),
        ("h200", {"precision": "bf16"}, "bfloat16"),
        ("h200", {"phase": "training"}, None),
        ("ascend-910c", {}, None),
    ],
)
def test_weights_are_served_as_they_are_published(
    shipped: Workspace, hardware: str, more: dict[str, Any], precision: str | None
) -> None:
    """Unless another format is asked for, the device has none such, or the model is trained."""
    question = asked(shipped, model="deepseek-r1", hardware=hardware, **more)
    assert question.settings.get("precision") == precision


def test_weights_of_four_bits_are_served_as_the_device_can(shipped: Workspace) -> None:
    def precision(hardware: str) -> object:
        return asked(shipped, model="gpt-oss-120b", hardware=hardware, count=1).settings.get("precision")

    assert [precision(name) for name in ("h100-sxm", "b200", "ascend-910b3")] == ["w4a16", "mxfp4", None]


def test_an_encoder_reads_no_more_than_it_takes(shipped: Workspace) -> None:
    def length(model: str, **shape: int) -> object:
        return asked(shipped, model=model, hardware="l4", count=1, shape=shape).settings["input_len"]

    assert (length("bert-large"), length("bge-m3")) == (512, 1024)
    assert (length("bge-m3", seq_len=64), length("bge-m3", input_len=2048)) == (64, 2048)


def test_requests_at_once_run_at_once_where_no_batch_is_stated(shipped: Workspace) -> None:
    question = asked(shipped, hardware="ascend-910c", traits={"concurrency": 30})
    assert question.configuration({"tensor_parallel": 4, "dp": 4})["batch"] == 8
    assert question.configuration({"batch": 5})["batch"] == 5
    assert question.configuration({"concurrency": 0}).get("batch") is None


@pytest.mark.parametrize("phase", ["training", ""])
def test_a_model_that_denoises_is_trained_and_not_served(shipped: Workspace, phase: str) -> None:
    problem, _ = shipped.problem({**SERVING, "phase": "training", "hardware": "910b3"})
    sizes = {**shipped.ask.model_facts(problem), "architecture": "diffusion"}
    assert Question.of(problem, sizes, shipped.hardware, phase=phase).model.id == "qwen3-8b"
    with pytest.raises(MissingFactError, match="denoises in steps"):
        Question.of(problem, sizes, shipped.hardware, phase="serving")
