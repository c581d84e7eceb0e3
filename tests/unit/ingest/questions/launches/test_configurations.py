"""Files of settings that are given without the command that reads them."""

import json

import pytest

from ingest.questions.launches.configurations import is_launch, ray_commands
from ingest.questions.launches.launch import read_launch, read_launches
from ingest.questions.launches.running import running_settings
from kg.errors import InputError

LLAMA_FACTORY = "model_name_or_path: Qwen/Qwen2.5-14B\nfinetuning_type: full\ncutoff_len: 2048\nbf16: true\n"
DEEPSPEED = json.dumps({"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3}})


@pytest.mark.parametrize(
    ("text", "program", "setting"),
    [
        (LLAMA_FACTORY, "llama-factory", "finetuning_type"),
        (f"# a task\n---\n{LLAMA_FACTORY}", "llama-factory", "cutoff_len"),
        ("model: Qwen/Qwen2.5-7B\ntuner_type: lora\nmax_length: 4096\n", "ms-swift", "tuner_type"),
        ("base_model: a/B-8B\nsequence_len: 4096\nadapter: lora\n", "axolotl", "sequence_len"),
        ("model: a/B-8B\ntensor-parallel-size: 4\nenforce-eager: true\n", "vllm", "--enforce-eager"),
        (
            "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\n",
            "accelerate",
            "mixed_precision",
        ),
        (DEEPSPEED, "deepspeed", "zero_optimization.stage"),
        (
            "run_mode: train\nparallel_config:\n  model_parallel: 2\n",
            "mindformers",
            "parallel_config.model_parallel",
        ),
        (
            "per_device_train_batch_size: 2\nmodel_name_or_path: a/B-8B\n",
            "transformers",
            "per_device_train_batch_size",
        ),
        ('{"BackendConfig": {"npuDeviceIds": [[0]]}}', "mindie", "BackendConfig.npuDeviceIds"),
    ],
)
def test_a_file_of_settings_is_the_launch_of_its_program(text: str, program: str, setting: str) -> None:
    """Its settings stand in the text itself, by their lines."""
    assert read_launch(text, "a.yaml").question["software"] == {program: ""}
    [found] = [item for item in running_settings(text) if item.key == setting]
    assert not found.file
    assert found.line == next(
        n for n, line in enumerate(text.split("\n"), 1) if setting.strip("-").split(".")[-1] in line
    )


def test_it_tells_what_the_command_would_and_names_the_file_by_its_own_name() -> None:
    told = read_launch(LLAMA_FACTORY, "sft.yaml")
    by_command = read_launch(
        "llamafactory-cli train sft.yaml", "a.sh", beside={"sft.yaml": LLAMA_FACTORY}.get
    )
    assert told.question == by_command.question
    assert told.question["model"] == "Qwen/Qwen2.5-14B"
    [launch] = read_launches(DEEPSPEED, "ds.json")
    assert launch.started.words[-1] == "ds.json"


@pytest.mark.parametrize(
    "text",
    [
        "name: ci\non: push\njobs: {}\n",
        "model: a/B-8B\nprompt: hello\n",
        '{"model_type": "qwen2", "hidden_size": 4096}',
        "finetuning_type: [broken\n",
        "a list:\n",
    ],
)
def test_any_other_table_is_no_launch(text: str) -> None:
    with pytest.raises(InputError, match="no launch"):
        read_launch(text, "a.yaml")


def test_a_script_is_never_taken_for_a_table() -> None:
    """Whatever its words: it begins with a command."""
    script = "vllm serve a/B-8B --port 80 # finetuning_type: full\n"
    assert read_launch(script, "a.sh").question["software"] == {"vllm": ""}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (LLAMA_FACTORY, "sft.yaml"),
        (DEEPSPEED, "ds.json"),
        ("#!/bin/bash\nvllm serve a/B-8B\n", "serve.sh"),
        ("services:\n  a:\n    image: vllm/vllm-openai\n    command: --model a/B-8B\n", "compose.yaml"),
        ("from vllm import LLM\nLLM('a/B-8B')\n", "ask.py"),
    ],
)
def test_a_file_that_starts_a_program_is_a_launch(text: str, place: str) -> None:
    assert is_launch(text, place)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("model: qwen3-8b\nhardware: h100\nphase: serving\n", "question.yaml"),
        ("model: qwen3-8b\nhardware: h100\n", "question"),
        ('{"op": "gemm", "shape": {"m": 128}, "hardware": "910B3"}', "question.json"),
        ("modle: qwen3-8b\n", "question.yaml"),
        ("model: [", "question.yaml"),
        ("", "question"),
    ],
)
def test_the_file_of_a_question_is_none(text: str, place: str) -> None:
    """Nor what is meant to be one: its faults are told as such."""
    assert not is_launch(text, place)


RAY = """\
applications:
- name: app
  import_path: ray.serve.llm:build_openai_app
  args:
    llm_configs:
    - model_loading_config: {model_id: b, model_source: a/B}
      accelerator_type: L4
      runtime_env: {env_vars: {VLLM_USE_V1: "1"}}
      engine_kwargs: {tensor_parallel_size: 2, enforce_eager: true}
    - model_loading_config: {model_id: c/D}
    - engine_kwargs: {tensor_parallel_size: 2}
"""
SERVICE = "apiVersion: ray.io/v1\nkind: RayService\nspec:\n  serveConfigV2: |\n"


@pytest.mark.parametrize("text", [RAY, SERVICE + RAY.replace("\n", "\n    ").join(("    ", ""))])
def test_each_engine_is_a_launch_of_vllm(text: str) -> None:
    assert is_launch(text, "c.yaml")
    first, second = read_launches(text, "c.yaml")
    asked = first.facts.question
    assert (asked["model"], asked["hardware"], asked["count"]) == ("a/B", "L4", 2)
    assert asked["current"] == {"VLLM_USE_V1": 1, "tensor_parallel_size": 2, "enforce_eager": True}
    assert second.command.words == ("vllm", "serve", "c/D")


@pytest.mark.parametrize("text", ["a: 1", "llm_configs: [", "llm_configs: 3", "llm_configs: [a, {b: c}]"])
def test_other_texts_are_none(text: str) -> None:
    assert ray_commands(text) == []
