"""Sizes of a launch that its program divides evenly, and refuses where they do not divide."""

import json

import pytest

from ingest.questions.launches.running import running_settings
from kg.terms.dialects import positive, statement
from recommender.audit.audit import shipped_rules
from recommender.audit.case import AuditCase
from recommender.audit.division_findings import divisions
from recommender.audit.judge import judge_settings
from tests.unit.recommender.audit.judged import judged

_MEGATRON = "torchrun pretrain_gpt.py --tensor-model-parallel-size 2 --micro-batch-size 2 --global-batch-size"


def found(script: str, program: str, **facts: int | str) -> dict[str, str]:
    rules = judged(script, program, "", told=True, **facts)
    return {name: item.remedy for name, item in rules.items() if name.endswith("-not-divisible")}


@pytest.mark.parametrize(
    ("script", "facts", "remedies"),
    [
        ("vllm serve a/B -tp 3", {"heads": 40}, {"heads-not-divisible": "-tp 2"}),
        ("vllm serve a/B -tp 8", {"heads": 40}, {}),
        ("vllm serve a/B -tp 3", {}, {}),
        ("vllm serve a/B -tp 3", {"heads": 40, "phase": "training"}, {}),
        (
            "python -m sglang.launch_server --model-path x --tp 8 --dp 3 --enable-dp-attention",
            {"heads": 64},
            {"copies-not-divisible": "--dp 2"},
        ),
        (
            "python -m sglang.launch_server --model-path x --tp 8 --dp 4 --enable-dp-attention",
            {"heads": 64},
            {},
        ),
        ("python -m sglang.launch_server --model-path x --tp 8 --dp 3", {"heads": 64}, {}),
        ("trtllm-serve x --tp_size 8 --ep_size 3", {}, {"ranks-not-divisible": "--ep_size 2"}),
        ("trtllm-serve x --tp_size 8 --ep_size 4", {}, {}),
    ],
)
def test_a_server_divides_its_sizes(script: str, facts: dict[str, int | str], remedies: object) -> None:
    programs = {"vllm": "vllm", "python": "sglang", "trtllm-serve": "tensorrt-llm"}
    assert found(script, programs[script.partition(" ")[0]], **facts) == remedies


@pytest.mark.parametrize(
    ("words", "remedies"),
    [
        ("250", {"batch-not-divisible": "--global-batch-size 256"}),
        ("256", {}),
        ("250 --pipeline-model-parallel-size 4", {}),
        ("250 --rampup-batch-size 8", {}),
        ("256 --expert-model-parallel-size 6", {"experts-not-divisible": "--expert-model-parallel-size 4"}),
        ("256 --num-experts 60 --expert-model-parallel-size 6", {}),
        (
            "256 --pipeline-model-parallel-size 3",
            {"layers-not-divisible": "--pipeline-model-parallel-size 2"},
        ),
        ("256 --pipeline-model-parallel-size 3 --decoder-first-pipeline-num-layers 4", {}),
        (
            "256 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 3",
            {"layers-not-divisible": "--num-layers-per-virtual-pipeline-stage 2"},
        ),
        ("256 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2", {}),
        ("256 --num-attention-heads 15", {"heads-not-divisible": "--tensor-model-parallel-size 1"}),
    ],
)
def test_a_trainer_of_megatron_divides_its_sizes(words: str, remedies: object) -> None:
    """Sizes that the launch states count before those of a card."""
    facts = {"devices": 8, "layers": 16, "experts": 64, "heads": 16}
    assert found(f"{_MEGATRON} {words}", "megatron-lm", phase="training", **facts) == remedies


@pytest.mark.parametrize(("size", "expected"), [(100, 128), (128, 0), ("auto", 0)])
def test_the_samples_of_deepspeed_are_those_of_its_steps(size: object, expected: int) -> None:
    """Its file states all three, so their product is refused where it is another."""
    script = (
        "deepspeed run.py --gradient_accumulation_steps 4 --per_device_train_batch_size 4 --deepspeed d.json"
    )
    content = json.dumps({"train_batch_size": size, "zero_optimization": {"stage": 3}})
    case = AuditCase(
        settings=running_settings(script, beside={"d.json": content}.get), program="transformers",
        version="5.0.0", is_told=True, facts={"devices": 8, "phase": "training"},
    )  # fmt: skip
    remedies = {item.rule: item.remedy for item in judge_settings(case, shipped_rules())}
    assert remedies.get("batch-not-divisible") == (f"train_batch_size={expected}" if expected else None)


@pytest.mark.parametrize("parts", range(2, 13))
def test_the_remedy_of_a_division_divides(parts: int) -> None:
    """What is written in its place is a size with which the finding is gone."""
    for key, fact in (("--tensor-model-parallel-size", "tp"), ("--pipeline-model-parallel-size", "pp")):
        facts = {"layers": 24, "heads": 20}
        for remedy in found(f"torchrun pretrain_gpt.py {key} {parts}", "megatron-lm", **facts).values():
            name, _, value = remedy.partition(" ")
            size = positive(statement({name: value}, "megatron-lm").facts[fact])
            assert size
            assert size < parts
            assert not found(f"torchrun pretrain_gpt.py {remedy}", "megatron-lm", **facts)


def test_a_division_blames_a_size_that_it_reads() -> None:
    for one in divisions():
        assert one.blamed in {one.whole, *one.parts}
        assert one.says.keys() == {"en", "zh"}
