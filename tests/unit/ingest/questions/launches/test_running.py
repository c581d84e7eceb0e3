"""The settings of a launch as they are written, each with its line and its place."""

import pytest

from ingest.questions.launches.running import running_settings
from kg.nouns.setting import SettingPlace

SCRIPT = """# --enforce-eager was tried here
export NCCL_DEBUG=INFO
export OWN_LENGTH=4096
vllm serve Qwen/Qwen3-8B \\
  --max-model-len $OWN_LENGTH \\
  --no-enable-prefix-caching \\
  --compilation-config '{"cudagraph_mode": "NONE", "pass_config": {"fuse": true}}' \\
  --enforce-eager --max-num-seqs=$(nproc)
"""


def found(text: str) -> dict[str, tuple[str, SettingPlace, int | None]]:
    return {item.key: (item.value, item.place, item.line) for item in running_settings(text)}


def test_each_setting_keeps_its_spelling_place_and_line() -> None:
    settings = found(SCRIPT)
    assert settings["NCCL_DEBUG"] == ("INFO", SettingPlace.ENV, 2)
    assert settings["--max-model-len"] == ("4096", SettingPlace.FLAG, 5)
    assert settings["--no-enable-prefix-caching"] == ("true", SettingPlace.FLAG, 6)
    assert settings["compilation_config.cudagraph_mode"] == ("NONE", SettingPlace.JSON, 7)
    assert settings["compilation_config.pass_config.fuse"] == ("true", SettingPlace.JSON, 7)
    assert settings["--enforce-eager"] == ("true", SettingPlace.FLAG, 8)


def test_a_variable_that_the_script_uses_itself_is_no_setting() -> None:
    assert "OWN_LENGTH" not in found(SCRIPT)


def test_a_value_that_only_a_run_would_tell_is_unknown_and_its_setting_is_there() -> None:
    [unknown] = [item for item in running_settings(SCRIPT) if not item.is_known]
    assert unknown.key == "--max-num-seqs"


@pytest.mark.parametrize(
    "text",
    [
        "docker run -d -e ASCEND_LAUNCH_BLOCKING=1 --shm-size 16g vllm/vllm-openai:v0.11.0 --model m",
        "ASCEND_LAUNCH_BLOCKING=1 vllm serve m",
        "ASCEND_LAUNCH_BLOCKING=1 bash -c 'vllm serve m'",
        "env ASCEND_LAUNCH_BLOCKING=1 vllm serve m",
    ],
)
def test_a_variable_reaches_the_program_in_every_form(text: str) -> None:
    assert found(text)["ASCEND_LAUNCH_BLOCKING"][:2] == ("1", SettingPlace.ENV)


def test_options_before_the_program_are_those_of_its_launcher() -> None:
    text = "torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --seq-length 4096"
    assert set(found(text)) == {"--tensor-model-parallel-size", "--seq-length"}


def test_keys_that_only_the_file_of_a_server_has_stay_keys_of_the_file() -> None:
    beside = {"extra.yml": "disable_overlap_scheduler: true\nhost: h\nmoe_config: {backend: TRTLLM}\n"}.get
    items = running_settings("trtllm-serve m --extra_llm_api_options extra.yml", beside=beside)
    assert {(item.key, item.place) for item in items} >= {
        ("disable_overlap_scheduler", SettingPlace.YAML),
        ("--host", SettingPlace.FLAG),
        ("moe_config.backend", SettingPlace.YAML),
    }


def test_keys_of_a_file_that_a_server_names_are_its_flags() -> None:
    content = "enforce-eager: true\ncompilation_config: {cudagraph_mode: NONE}\n"
    settings = {
        item.key: item.value
        for item in running_settings("vllm serve m --config serve.yaml", beside={"serve.yaml": content}.get)
    }
    assert settings["--enforce-eager"] == "true"
    assert settings["compilation_config.cudagraph_mode"] == "NONE"


def test_manifests_and_several_launches_are_read() -> None:
    manifest = """apiVersion: v1
kind: Pod
spec:
  containers:
    - image: vllm/vllm-openai:v0.11.0
      args: ["--model", "m", "--enforce-eager"]
      env: [{name: NCCL_DEBUG, value: TRACE}]
"""
    assert found(manifest)["--enforce-eager"] == ("true", SettingPlace.FLAG, 6)
    assert found(manifest)["NCCL_DEBUG"][0] == "TRACE"
    two = "vllm serve m --max-num-seqs 1 &\nvllm serve m --max-num-seqs 2 &\n"
    assert [item.value for item in running_settings(two, server=2)] == ["2"]
    assert [item.value for item in running_settings(two)] == ["1"]


def test_a_dotted_flag_is_a_field() -> None:
    assert found("vllm serve m -cc.pass_config.fuse=True")["cc.pass_config.fuse"][1] is SettingPlace.JSON


def test_a_dotted_flag_of_a_trainer_is_a_flag() -> None:
    launched = found("torchrun -m torchtitan.train --training.seq_len 8192 --compile.enable")
    assert launched["--training.seq_len"][:2] == ("8192", SettingPlace.FLAG)
    assert launched["--compile.enable"][:2] == ("true", SettingPlace.FLAG)


def test_bare_overrides_are_read_where_the_program_takes_them() -> None:
    launched = found("python3 -m MaxText.train base.yml per_device_batch_size=4 remat_policy=full")
    assert launched["per_device_batch_size"] == ("4", SettingPlace.YAML, 1)
    tuned = found("tune run full_finetune_distributed --config llama3/8B_full batch_size=4")
    assert tuned["batch_size"][0] == "4"
    assert tuned["--config"][0] == "llama3/8B_full"
    assert "seed" not in found("vllm serve m --max-num-seqs 4 seed=4")


def test_keys_of_a_mindformers_file_are_settings() -> None:
    content = "parallel_config:\n  model_parallel: 4\n"
    launched = running_settings("python run_mindformer.py --config m.yaml", beside={"m.yaml": content}.get)
    assert ("parallel_config.model_parallel", "4") in {(item.key, item.value) for item in launched}


def test_windows_line_ends_and_texts_that_launch_nothing() -> None:
    assert found(SCRIPT.replace("\n", "\r\n")) == found(SCRIPT)
    assert running_settings("echo hello --enforce-eager") == ()
    assert running_settings("") == ()


def test_a_setting_of_another_file_has_its_name_and_its_line_there() -> None:
    text = "deepspeed train.py --per_device_train_batch_size 1 --deepspeed z.json"
    content = '{\n "bf16": {"enabled": true},\n "zero_optimization": {\n  "stage": 3\n }\n}'
    places = {
        item.key: (item.file, item.line) for item in running_settings(text, beside={"z.json": content}.get)
    }
    assert places["--per_device_train_batch_size"] == ("", 1)
    assert places["zero_optimization.stage"] == ("z.json", 4)


@pytest.mark.parametrize(
    "content", [None, "deepspeed_config: {zero_stage: 3, offload_optimizer_device: cpu}"]
)
def test_what_configures_a_launcher_is_a_setting_by_flag_or_file(content: str | None) -> None:
    flags = "--zero_stage 3 --offload_optimizer_device cpu" if content is None else "--config_file a.yaml"
    text = f"accelerate launch {flags} sft.py --per_device_train_batch_size 1"
    settings = running_settings(text, beside={"a.yaml": content}.get)
    named = {item.key.lstrip("-"): item.value for item in settings}
    assert (named["zero_stage"], named["offload_optimizer_device"]) == ("3", "cpu")


def test_a_field_stands_where_its_whole_path_does() -> None:
    settings = found(
        "python -m verl.trainer.main_ppo \\\n actor.param_offload=True \\\n ref.param_offload=True"
    )
    assert [settings[f"{name}.param_offload"][2] for name in ("actor", "ref")] == [2, 3]
