"""The framework of a question: the one that it names, or the usual one."""

import json
from typing import Any

import pytest

import data
from kg.errors import NoEvidenceError
from kg.nouns.entities import Better, Hardware, Objective, Problem, Workload, WorkloadKind
from kg.nouns.framework import Framework
from kg.nouns.values import Settings, Value
from kg.terms.meanings import variant_of
from kg.terms.setting_registry import registry
from recommender.applicability.framework import RunningFramework, maker_of, newest_release, running_framework


def framework(identifier: str, *stack: str, hardware: tuple[str, ...] = ()) -> Framework:
    return Framework(id=identifier, labels={}, phases=("serving",), hardware=hardware, stack=stack)


FRAMEWORKS = [
    *(
        Framework(id=name, labels={}, phases=("training",), hardware=(), stack=("torch",))
        for name in ("verl", "verl-megatron", "openrlhf")
    ),
    framework("torch-npu", "cann"),
    framework("vllm", "torch", hardware=("nvidia", "amd", "intel")),
    framework("vllm-ascend", "vllm", "torch", "torch-npu", "cann"),
    framework("vllm-gaudi", "vllm", "torch", hardware=("intel-gaudi",)),
    framework("mindspeed-llm", "torch-npu", "cann"),
    framework("mindspeed-mm", "torch-npu", "cann"),
    framework("megatron-lm", "torch"),
    framework("torch", "cuda"),
    framework("llama-factory", "torch"),
    framework("llama.cpp"),
]


def found_if_any(
    vendor: str = "huawei",
    phase: str = "serving",
    architecture: str = "decoder",
    current: dict[str, Value] | None = None,
    precision: str | None = None,
    **software: str,
) -> RunningFramework | None:
    problem = Problem(
        workload=Workload(kind=WorkloadKind(phase), operator=phase, model="m", precision=precision),
        hardware=Hardware(name="chip"),
        objective=Objective(metric="throughput", better=Better.HIGHER),
        software=Settings({name.replace("_", "-"): version for name, version in software.items()}),
        current=Settings(current or {}),
    )
    one = running_framework(problem, vendor, architecture, FRAMEWORKS)
    assert one == running_framework(problem, vendor, architecture, FRAMEWORKS[::-1])
    return one


def found(*told: Any, **more: Any) -> RunningFramework:
    made = found_if_any(*told, **more)
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("vendor", "phase", "architecture", "name"),
    [
        ("huawei", "serving", "moe-decoder", "vllm-ascend"),
        ("huawei", "serving", "vision", "torch-npu"),
        ("huawei", "training", "decoder", "mindspeed-llm"),
        ("nvidia", "serving", "decoder", "vllm"),
        ("intel-gaudi", "serving", "decoder", "vllm-gaudi"),
        ("intel-gaudi", "serving", "vision", "torch"),
        ("nvidia", "training", "decoder", "megatron-lm"),
        ("nvidia", "training", "vision", "torch"),
        ("amd", "serving", "diffusion", "torch"),
        ("amd", "training", "moe-decoder", "megatron-lm"),
    ],
)
def test_vendor_phase_and_model_decide_what_is_usual(
    vendor: str, phase: str, architecture: str, name: str
) -> None:
    usual = found(vendor, phase, architecture)
    assert (usual.id, usual.is_assumed) == (name, True)
    assert [fact.words for fact in usual.assumed] == [f"{name} {usual.version}".strip()]


@pytest.mark.parametrize(
    ("vendor", "phase", "architecture"), [("intel", "training", "decoder"), ("", "serving", "decoder")]
)
def test_where_nothing_is_usual_there_is_none(vendor: str, phase: str, architecture: str) -> None:
    assert found_if_any(vendor, phase, architecture) is None


def test_a_named_framework_wins_and_nothing_is_assumed() -> None:
    named = found(torch_npu="7.1.0")
    assert named == RunningFramework(id="torch-npu", version="7.1.0", below=frozenset({"cann"}))
    assert named.assumed == ()


@pytest.mark.parametrize(
    ("vendor", "phase", "architecture", "named"),
    [
        ("nvidia", "serving", "vision", "vllm"),
        ("nvidia", "serving", "recommendation", "vllm"),
        ("nvidia", "serving", "diffusion", "vllm"),
        ("nvidia", "training", "vision", "verl"),
    ],
)
def test_a_program_of_language_models_is_refused_for_others(
    vendor: str, phase: str, architecture: str, named: str
) -> None:
    with pytest.raises(NoEvidenceError, match=f"{named} is a program of language models, which m is none of"):
        found(vendor, phase, architecture, None, None, **{named: ""})
    assert found(vendor, phase, "decoder", None, None, **{named: ""})


def test_files_of_gguf_types_are_of_llama_cpp_and_of_those_that_read_them() -> None:
    usual = found(precision="q4_k_m", vendor="nvidia")
    named = found(precision="q4_k_m", vendor="nvidia", vllm="")
    assert (usual.id, named.id) == ("llama.cpp", "vllm")
    with pytest.raises(NoEvidenceError, match="vllm-ascend reads no files of q4_k_m"):
        found(precision="q4_k_m", vllm_ascend="")


def test_of_two_the_one_that_runs_on_the_other_is_meant() -> None:
    named = found(torch_npu="7.1.0", vllm_ascend="0.18.0", vllm="0.18.0")
    assert (named.id, named.version) == ("vllm-ascend", "0.18.0")


@pytest.mark.parametrize(
    ("vendor", "architecture", "name"),
    [("nvidia", "decoder", "vllm"), ("nvidia", "vision", "torch"), ("huawei", "decoder", "vllm-ascend")],
)
def test_a_library_under_the_usual_framework_does_not_replace_it(
    vendor: str, architecture: str, name: str
) -> None:
    one = found(vendor, architecture=architecture, torch="2.9.0")
    assert one.id == name


@pytest.mark.parametrize(("version", "release"), [("0.18.0", "0.18.0"), ("0.33.0", ""), ("0.9.1", "0.9.1")])
def test_a_plugin_has_the_release_of_what_it_extends_where_there_is_one(version: str, release: str) -> None:
    one = found(vllm=version)
    assert (one.id, one.plugged) == ("vllm-ascend", "vllm")
    assert one.version == (release or newest_release("vllm-ascend"))
    assert one.is_assumed == (not release)


def test_what_denoises_is_trained_on_ascend_by_the_program_for_such_models() -> None:
    one = found("huawei", "training", architecture="diffusion")
    assert one.id == "mindspeed-mm"


@pytest.mark.parametrize(
    "said", [{"lora_rank": 16}, {"finetuning_type": "lora"}, {"finetuning_type": "full"}]
)
def test_adapters_are_trained_by_a_program_that_has_them(said: dict[str, Value]) -> None:
    on_ascend, on_gpus = found(phase="training", current=said), found("nvidia", "training", current=said)
    assert on_ascend
    assert on_gpus
    assert on_ascend.id == "mindspeed-llm"  # has them itself
    assert on_gpus.id == ("megatron-lm" if "full" in said.values() else "llama-factory")


def test_the_newest_release_is_a_final_one() -> None:
    newest = newest_release("vllm")
    assert newest in registry("vllm").releases
    assert "rc" not in newest
    assert "@" not in newest
    assert newest_release("of-nobody") == ""


@pytest.mark.parametrize(
    ("current", "name"),
    [
        ({}, "verl"),
        ({"actor_rollout_ref.actor.fsdp_config.param_offload": True}, "verl"),
        ({"actor_rollout_ref.actor.megatron.tensor_model_parallel_size": 2}, "verl-megatron"),
        ({"--config-name": "ppo_megatron_trainer"}, "verl-megatron"),
        ({"actor_rollout_ref.actor.strategy": "megatron"}, "verl-megatron"),
    ],
)
def test_a_program_is_the_variant_of_it_that_settings_are_of(current: dict[str, Value], name: str) -> None:
    running = found("nvidia", "training", current=current, verl="0.7.0")
    assert (running.id, running.version) == (name, "0.7.0")


@pytest.mark.parametrize(
    ("program", "sign"),
    [
        ("mindspeed-llm", "parallel.fsdp_size"),
        ("mindspeed-mm", "parallel.fsdp_plan.param_dtype"),
        ("nemo", ""),
    ],
)
def test_official_recipes_are_of_the_variant_that_they_configure(program: str, sign: str) -> None:
    lines = [line for name in data.files("recipes", ".jsonl") for line in data.text(name).splitlines()]
    recipes = [one for one in map(json.loads, lines) if one["framework"].startswith(program)]
    for one in recipes:
        settings = {item["key"]: item["value"] for item in one["settings"]}
        assert one["framework"] == variant_of(program, settings), one["id"]
    keys = {(one["framework"], item["key"]) for one in recipes for item in one["settings"]}
    assert not sign or {name for name, key in keys if key.endswith(sign)} == {f"{program}-fsdp"}


def test_flags_that_are_gone_since_tell_the_release() -> None:
    old: dict[str, Value] = {"--zero_stage": 3, "--micro_train_batch_size": 2, "--bf16": True}
    running = found("nvidia", "training", current=old, openrlhf="")
    assert running.is_assumed
    known = registry("openrlhf").at(running.version)
    assert all(known.look_up(name, suggest=False).usable for name in old)
    now = found("nvidia", "training", current={"--ds.zero_stage": 3, "--bf16": True}, openrlhf="")
    assert now.version == newest_release("openrlhf")


def test_flags_that_the_newest_release_says_otherwise_do_not_hold_it_back() -> None:
    old: dict[str, Value] = {"--speculative-model": "[ngram]", "--num-speculative-tokens": 5}
    running = found("nvidia", "serving", current=old, vllm="")
    assert running.version == newest_release("vllm")


def test_vllm_on_gaudi_is_its_plugin_and_on_other_chips_of_that_maker_itself() -> None:
    plugged = found("intel-gaudi", vllm="")
    assert (plugged.id, plugged.plugged) == ("vllm-gaudi", "vllm")
    plain = found("intel", vllm="")
    assert plain.id == "vllm"
    assert [maker_of(path) for path in (("gaudi-3", "intel-gaudi", "intel"), ("h100", "nvidia"), ())] == [
        "intel-gaudi",
        "nvidia",
        "",
    ]
