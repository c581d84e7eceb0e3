"""The fit of training as the question has it."""

from dataclasses import replace

import pytest

from benchmarks.worlds.shipped import ShippedKnowledge
from kg.errors import InputError
from kg.nouns.entities import Better, Hardware, Objective, Problem, Workload, WorkloadKind
from kg.nouns.values import Settings
from recommender.cost_model.question import Question
from recommender.ranking.feasibility.training_fit import fit_of, refuse_inference_chips, states_beyond


@pytest.fixture(scope="module")
def shipped() -> ShippedKnowledge:
    return ShippedKnowledge.load()


def told(shipped: ShippedKnowledge, count: int = 1, model: str = "llama-2-7b", **current: object) -> str:
    problem = Problem(
        workload=Workload(
            kind=WorkloadKind.TRAINING, operator="train", model=model, shape=Settings({"seq_len": 2048})
        ),
        hardware=Hardware(name="a100-sxm4-80gb", count=count),
        objective=Objective(metric="throughput", better=Better.HIGHER),
        software=Settings({"transformers": ""}),
        current=Settings(current),
    )
    fit = fit_of(problem, shipped.model_facts(model), shipped.hardware)
    assert fit is not None
    assert fit.fits == fit.words.endswith(": it fits")
    return fit.words


def test_what_fits_is_said_to(shipped: ShippedKnowledge) -> None:
    assert told(shipped, lora_r=16, load_in_4bit=True, gradient_checkpointing=True).endswith(": it fits")


def test_the_least_change_that_makes_it_fit_is_named(shipped: ShippedKnowledge) -> None:
    assert "gradient checkpointing and all spread (ZeRO 3, FSDP) takes" in told(shipped, 8)
    assert "gradient checkpointing and an optimiser in 8 bit takes" in told(shipped, 1)
    assert "weights and states in 231 GB of host memory takes" in told(shipped, 1, "llama-2-13b")
    assert "adapters beside weights in 4 bit (QLoRA) takes" in told(
        shipped, 1, "llama-3-1-70b", lora_r=16, zero_stage=0
    )


def test_where_no_change_helps_the_fewest_devices_are_named(shipped: ShippedKnowledge) -> None:
    assert "all spread over 384 devices (ZeRO 3, FSDP) takes" in told(shipped, 1, "deepseek-v3")


def test_a_length_that_is_not_told_is_assumed_and_said(shipped: ShippedKnowledge) -> None:
    problem = Problem(
        workload=Workload(kind=WorkloadKind.TRAINING, operator="train", model="bert-large"),
        hardware=Hardware(name="a100-sxm4-80gb", count=1),
        objective=Objective(metric="throughput", better=Better.HIGHER),
    )
    fit = fit_of(problem, shipped.model_facts("bert-large"), shipped.hardware)
    assert fit is not None
    assert "(sequences of" in fit.words


def test_nothing_trains_on_a_chip_made_for_inference(shipped: ShippedKnowledge) -> None:
    problem = Problem(
        workload=Workload(kind=WorkloadKind.TRAINING, operator="train", model="llama-2-7b"),
        hardware=Hardware(name="ascend-310p3", count=8),
        objective=Objective(metric="throughput", better=Better.HIGHER),
    )
    with pytest.raises(InputError, match="made for inference"):
        refuse_inference_chips(problem, shipped.hardware)
    refuse_inference_chips(
        replace(problem, hardware=Hardware(name="ascend-910b1", count=8)), shipped.hardware
    )


def test_states_alone_are_beyond_a_device_unless_they_are_divided(shipped: ShippedKnowledge) -> None:
    problem = Problem(
        workload=Workload(kind=WorkloadKind.TRAINING, operator="train", model="llama-2-70b"),
        hardware=Hardware(name="a100-sxm4-80gb", count=8),
        objective=Objective(metric="throughput", better=Better.HIGHER),
    )
    question = Question.of(problem, shipped.model_facts("llama-2-70b"), shipped.hardware, phase="training")
    asked = replace(question, settings={**question.settings, "seq_len": 2048})
    assert states_beyond(asked, {"tensor_parallel": 8})
    assert not states_beyond(asked, {"tensor_parallel": 8, "lora_rank": 8})
