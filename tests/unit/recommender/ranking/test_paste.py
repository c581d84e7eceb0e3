"""Settings of a plan as people paste them."""

import json
import shlex
from dataclasses import replace

import pytest
import yaml

from kg.errors import InputError
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value
from recommender.ranking.paste import change_words, flag_words, launch_text, pasted
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.ranking.start import StartConfiguration


def setting(key: str, value: Value = True) -> PlanSetting:
    where = SettingPlace.ENV if key.isupper() else SettingPlace.JSON if "." in key else SettingPlace.FLAG
    return PlanSetting(where=where, key=key, value=value, origin=Origin.RECIPE)


def words_of(lines: list[str]) -> list[str]:
    """Words of one command, its continued lines joined as a shell does."""
    return shlex.split("\n".join(lines).replace("\\\n", ""))


def test_a_start_is_one_command_that_a_shell_takes() -> None:
    lines = pasted(
        [
            setting("MY_ENV", "a b"),
            setting("--async-scheduling"),
            setting("--max-num-seqs", 64),
            setting("compilation_config.mode", "FULL"),
            setting("compilation_config.pass.fuse", value=False),
            setting("compilation_config.sizes", "[1,2]"),
        ],
        "vllm",
    )
    assert lines[0] == "export MY_ENV='a b'"
    words = words_of(lines[1:])
    assert words[:3] == ["vllm", "serve", "MODEL"]
    assert words[3:7] == ["--async-scheduling", "--max-num-seqs", "64", "--compilation-config"]
    content = {"mode": "FULL", "pass": {"fuse": False}, "sizes": [1, 2]}
    assert json.loads(words[7]) == content
    assert len(words) == 8


def test_a_named_checkpoint_is_what_the_command_serves() -> None:
    lines = pasted([setting("--max-num-seqs", 64)], "vllm", "/models/my model")
    assert words_of(lines)[:3] == ["vllm", "serve", "/models/my model"]


def test_a_long_command_goes_on_in_the_next_line() -> None:
    flags = [setting(f"--a-rather-long-flag-{number}", number) for number in range(12)]
    lines = pasted(flags, "vllm")
    assert len(lines) > 2
    assert max(map(len, lines)) <= 100
    assert all(line.endswith(" \\") for line in lines[:-1])
    assert not lines[-1].endswith("\\")
    assert len(words_of(lines)) == 3 + 24


def test_a_launcher_of_ones_own_gets_the_flags_alone() -> None:
    assert pasted([setting("--micro-batch-size", 2)], "megatron-lm") == ["--micro-batch-size 2"]


def test_fields_of_files_are_listed_after_the_command() -> None:
    field = PlanSetting(where=SettingPlace.YAML, key="training.lr", value=0.1, origin=Origin.RECIPE)
    of_mindie = PlanSetting(
        where=SettingPlace.JSON, key="A.b", value=2, origin=Origin.COST_MODEL, file="config.json"
    )
    assert pasted([field, of_mindie, setting("--x")], "other") == [
        "--x",
        "training.lr=0.1",
        "config.json: A.b=2",
    ]
    assert change_words([of_mindie]) == ["config.json: A.b=2"]


def test_a_command_that_reads_a_file_of_settings_names_it() -> None:
    field = replace(setting("enable_attention_dp"), where=SettingPlace.YAML, file="extra-llm-api.yml")
    inner = replace(setting("kv_cache_config.dtype", "fp8"), where=SettingPlace.YAML)
    assert pasted([setting("--tp_size", 8), field, inner], "tensorrt-llm") == [
        "cat > extra-llm-api.yml <<'EOF'",
        "enable_attention_dp: true",
        "kv_cache_config:",
        "  dtype: fp8",
        "EOF",
        "trtllm-serve MODEL --tp_size 8 --extra_llm_api_options extra-llm-api.yml",
    ]


@pytest.mark.parametrize(
    "text", ["{a: [", "&a [*a]", "x\nEOF\nreboot", "[" * 5000, "!!python/name:os.system "]
)
def test_no_value_ends_the_file_that_a_start_writes(text: str) -> None:
    of_file = [
        PlanSetting(where=SettingPlace.YAML, key=key, value=text, origin=Origin.RECIPE)
        for key in ("a", "a.b", "c\nEOF\nreboot")
    ]
    first, *body, last, command = pasted(of_file, "tensorrt-llm")
    assert (first, last) == ("cat > extra-llm-api.yml <<'EOF'", "EOF")
    assert "EOF" not in body
    assert yaml.safe_load("\n".join(body)) == {"a": {"b": text}, "c\nEOF\nreboot": text}
    assert command.startswith("trtllm-serve ")


def test_an_engine_that_reads_a_file_gets_the_file() -> None:
    fields = [
        PlanSetting(where=SettingPlace.JSON, key=key, value=2, origin=Origin.COST_MODEL, file="config.json")
        for key in (
            "BackendConfig.ModelDeployConfig.ModelConfig.tp",
            "BackendConfig.ScheduleConfig.maxBatchSize",
        )
    ]
    assert json.loads(launch_text(fields, "mindie")) == {
        "BackendConfig": {
            "ModelDeployConfig": {"ModelConfig": [{"tp": 2}]},
            "ScheduleConfig": {"maxBatchSize": 2},
        }
    }
    assert launch_text([setting("--micro-batch-size", 2)], "megatron-lm") == "--micro-batch-size 2\n"


def test_a_list_of_numbers_is_as_many_words() -> None:
    assert pasted([setting("--cuda-graph-bs", "8 16 32"), setting("--name", "a b")], "other") == [
        "--cuda-graph-bs 8 16 32 --name 'a b'"
    ]


def test_a_plan_of_another_engine_is_no_launch_of_it() -> None:
    start = StartConfiguration(framework="mindspeed-llm", settings=(setting("--bf16", value=True),))
    assert start.launch_text("megatron") == "--bf16\n"
    with pytest.raises(InputError, match="the plan is for mindspeed-llm, not for mindie"):
        start.launch_text("mindie")


def test_what_is_taken_away_is_said_and_never_written() -> None:
    gone = replace(setting("--sequence-parallel", value=False), removed=True)
    assert change_words([setting("--fast"), gone]) == ["--fast", "without --sequence-parallel"]
    assert flag_words([gone]) == []


def test_a_switch_that_is_off_is_written_by_the_flag_that_switches_it_off() -> None:
    off = PlanSetting(
        where=SettingPlace.FLAG, key="--enable-prefix-caching", value=False, origin=Origin.CURRENT
    )
    assert flag_words([replace(off, negation="--no-enable-prefix-caching")]) == ["--no-enable-prefix-caching"]
    assert flag_words([off]) == ["--enable-prefix-caching false"]


def test_fields_of_a_trainer_are_laid_over_those_of_its_file() -> None:
    field = replace(
        setting("per_device_train_batch_size", 2), where=SettingPlace.YAML, file="the task's YAML"
    )
    words = words_of(pasted([field, replace(field, key="bf16", value=True)], "llama-factory"))
    assert words == ["llamafactory-cli", "train", "TASK.yaml", "per_device_train_batch_size=2", "bf16=true"]
    assert words_of(pasted([setting("--bf16")], "llama-factory")) == ["llamafactory-cli", "train", "--bf16"]
