"""Conflicts within a launch: devices, lengths, formats."""

import json

import pytest

from ingest.questions.launches.running import RunningSetting, running_settings
from kg.nouns.audit import FindingLevel
from kg.nouns.setting import SettingPlace
from recommender.audit.audit import shipped_rules
from recommender.audit.case import AuditCase, audit_case
from recommender.audit.judge import judge_settings
from tests.unit.recommender.audit.judged import judged


def of_the_model(command: str, model: str = "a/B", **facts: int | str) -> dict[str, str]:
    case = audit_case(
        running_settings(command),
        {"software": {command.partition(" ")[0]: "0.11.0"}, "model": model},
        stated=facts,
        positions=40960,
    )
    return {item.rule: item.remedy for item in judge_settings(case, ())}


def test_limits_are_held_against_the_load_that_is_told() -> None:
    script = "vllm serve m --max-num-seqs 16 --max-model-len 2048 --data-parallel-size 2"
    found = judged(script, concurrency=400, input_len=3000, output_len=500)
    assert found["limit-below-load"].remedy == "--max-num-seqs 200"
    assert found["length-below-request"].level is FindingLevel.ERROR
    assert judged(script) == {}
    assert judged(script, concurrency=32, input_len=1500, output_len=500) == {}


def test_few_requests_are_right_for_few_users() -> None:
    assert "few-requests" not in judged("vllm serve m --max-num-seqs 1", concurrency=1)


def test_few_requests_are_no_finding_where_the_release_takes_no_more_without_the_setting() -> None:
    assert judged("llama-server -m m.gguf -np 4") == {}


def test_a_value_that_is_not_known_decides_nothing() -> None:
    assert judged("vllm serve m --max-num-seqs $(nproc) --gpu-memory-utilization $SHARE") == {}


@pytest.mark.parametrize(
    ("visible", "words", "found"),
    [
        ("0,1,2,3", {"--tensor-parallel-size": "8"}, True),
        ("0,1,2,3", {"--tensor-parallel-size": "4"}, False),
        ("0,1,2,3,4,5,6,7", {"-tp": "4"}, False),
        ("0,1,2,3", {"-tp": "2", "-dp": "4"}, True),
        ("0,1,2,3", {"-tp": "2", "-dp": "4", "-dpl": "2"}, False),
        ("0,1,2,3", {"-tp": "8", "--distributed-executor-backend": "ray"}, False),
        ("$DEVICES", {"-tp": "8"}, False),
    ],
)
def test_a_server_divides_over_no_more_devices_than_it_sees(
    visible: str, words: dict[str, str], found: bool
) -> None:
    running = [
        RunningSetting(key="ASCEND_RT_VISIBLE_DEVICES", value=visible, place=SettingPlace.ENV),
        *(RunningSetting(key=key, value=value, place=SettingPlace.FLAG) for key, value in words.items()),
    ]
    case = audit_case(running, {"software": {"vllm-ascend": "0.18.0"}, "phase": "serving"})
    rules = [item.rule for item in judge_settings(case, ())]
    assert ("fewer-devices-than-layout" in rules) == found


@pytest.mark.parametrize(
    ("program", "words", "found"),
    [
        ("vllm", "-tp 2", True),
        ("vllm", "-tp 4", False),
        ("vllm", "-tp 8", False),
        ("llama.cpp", "-np 2", False),
    ],
)
def test_devices_that_a_launch_leaves_idle_are_found(program: str, words: str, found: bool) -> None:
    key, value = words.split()
    running = [
        RunningSetting(key="nvidia.com/gpu", value="4", place=SettingPlace.ENV),
        RunningSetting(key=key, value=value, place=SettingPlace.FLAG),
    ]
    case = audit_case(running, {"software": {program: ""}, "phase": "serving"})
    remedies = {item.rule: item.remedy for item in judge_settings(case, ())}
    assert remedies.get("idle-devices", "") == ("nvidia.com/gpu: 2 devices" if found else "")


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("", True),
        (' --hf-overrides \'{"rope_parameters": {"factor": 4}}\'', False),
        (" --rope-scaling '{\"factor\": 4}'", False),
    ],
)
def test_a_length_beyond_the_model_is_stretched_or_found(more: str, *, found: bool) -> None:
    made = of_the_model(f"vllm serve a/B --max-model-len 131072{more}")
    assert made == ({"length-beyond-model": "--max-model-len 40960"} if found else {})
    assert not of_the_model("vllm serve a/B --max-model-len 40960")
    assert not of_the_model(f"VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm serve a/B --max-model-len 131072{more}")


@pytest.mark.parametrize(
    ("program", "model", "has_fp4", "found"),
    [
        ("tensorrt-llm", "nvidia/Llama-3.3-70B-Instruct-FP4", False, True),
        ("tensorrt-llm", "nvidia/Llama-3.3-70B-Instruct-FP4", True, False),
        ("tensorrt-llm", "nvidia/Llama-3.3-70B-Instruct-FP8", False, False),
        ("vllm", "nvidia/Llama-3.3-70B-Instruct-FP4", False, False),
    ],
)
def test_fp4_needs_a_device_with_it_where_the_engine_does_not_widen_it(
    program: str, model: str, *, has_fp4: bool, found: bool
) -> None:
    case = audit_case([], {"software": {program: ""}, "model": model}, stated={"has_fp4": has_fp4})
    assert [item.rule for item in judge_settings(case, ()) if item.stops] == ["weights-not-computed"] * found


def test_a_length_that_the_model_stretches_to_is_written_so_by_release() -> None:
    old = " --rope-scaling '{\"factor\": 4}'"
    for release, flag, more in (
        ("0.10.0", "--rope-scaling", ""), ("0.33.0", "--hf-overrides", ""), ("0.33.0", "--hf-overrides", old),
    ):  # fmt: skip
        case = audit_case(
            running_settings(f"vllm serve a/B --max-model-len 131072{more}"), {"software": {"vllm": release}},
            stated={}, positions=32768, rotary=(32768, 1000000),
        )  # fmt: skip
        [found] = (item for item in judge_settings(case, ()) if item.rule != "removed-setting")
        assert found.remedy.startswith(flag)
        assert found.others == ("--max-model-len 32768",)
        assert found.stops


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
    assert bool(of_the_model(f"vllm serve {model} --quantization {method}", model)) is found


@pytest.mark.parametrize(("below", "found"), [(4, True), (2, False), ("auto", False)])
def test_a_file_of_deepspeed_says_what_the_trainer_above_it_says(below: object, *, found: bool) -> None:
    script = (
        "deepspeed run_clm.py --model_name_or_path a/B --per_device_train_batch_size 2 --deepspeed d.json"
    )
    beside = {"d.json": json.dumps({"train_micro_batch_size_per_gpu": below})}.get
    case = AuditCase(
        settings=running_settings(script, beside=beside),
        program="transformers",
        version="5.0.0",
        is_told=True,
        facts={},
    )
    rules = [item.rule for item in judge_settings(case, shipped_rules())]
    assert ("deepspeed-mismatch" in rules) is found
