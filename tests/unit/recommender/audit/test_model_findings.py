"""Settings that a model does not take."""

import pytest

from ingest.questions.launches.running import running_settings
from recommender.audit.case import audit_case
from recommender.audit.model_findings import model_findings


def rules(command: str, model: str = "a/B", **facts: int | str) -> dict[str, str]:
    case = audit_case(
        running_settings(command),
        {"software": {command.partition(" ")[0]: "0.11.0"}, "model": model},
        stated=facts,
        positions=40960,
    )
    return {item.rule: item.remedy for item in model_findings(case)}


def test_heads_divide_over_the_devices() -> None:
    assert rules("vllm serve a/B -tp 3", heads=40) == {"heads-not-divisible": "-tp 2"}
    assert not rules("vllm serve a/B -tp 8", heads=40)
    assert not rules("vllm serve a/B -tp 3")
    assert not rules("vllm serve a/B -tp 3", heads=40, phase="training")


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("", True),
        (' --hf-overrides \'{"rope_parameters": {"factor": 4}}\'', False),
        (" --rope-scaling '{\"factor\": 4}'", False),
    ],
)
def test_a_length_beyond_the_model_is_stretched_or_found(more: str, *, found: bool) -> None:
    made = rules(f"vllm serve a/B --max-model-len 131072{more}")
    assert made == ({"length-beyond-model": "--max-model-len 40960"} if found else {})
    assert not rules("vllm serve a/B --max-model-len 40960")
    assert not rules(f"VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm serve a/B --max-model-len 131072{more}")


@pytest.mark.parametrize(
    ("model", "method", "found"),
    [
        ("Qwen/Qwen2.5-14B-Instruct", "awq", True),
        ("Qwen/Qwen2.5-14B-Instruct", "gptq_marlin", True),
        ("Qwen/Qwen2.5-14B-Instruct", "fp8", False),
        ("Qwen/Qwen2.5-14B-Instruct-AWQ", "awq_marlin", False),
        ("/data/models/qwen", "awq", False),
    ],
)
def test_packed_weights_are_those_of_the_checkpoint(model: str, method: str, *, found: bool) -> None:
    assert bool(rules(f"vllm serve {model} --quantization {method}", model)) is found
