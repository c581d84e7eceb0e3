"""Findings from the registry of a release: settings misspelt, gone, not there yet, at odds."""

import pytest

from ingest.questions.launches.running import running_settings
from kg.nouns.audit import FindingKind, FindingLevel
from recommender.audit.case import audit_case
from recommender.audit.judge import judge_settings
from tests.unit.recommender.audit.judged import judged


def test_a_gap_between_two_releases_that_have_a_setting_is_none() -> None:
    script = "SGLANG_CRASH_ON_NUMA_BIND_FAILURE=1 python -m sglang.launch_server --model-path m"
    assert judged(script, "sglang", "0.5.13") == {}
    assert "later-setting" in judged(script, "sglang", "0.4.0")


def test_a_field_in_the_wrong_object_says_where_it_belongs() -> None:
    script = "vllm serve m --additional-config '{\"enable_static_kernel\": true}'"
    found = judged(script, "vllm-ascend", "0.23.0")["unknown-setting"]
    assert found.remedy == "additional_config.ascend_compilation_config.enable_static_kernel=true"


def test_an_open_object_takes_what_it_is_given() -> None:
    script = 'vllm serve m --hf-overrides \'{"anything": {"at": 1}}\''
    assert judged(script) == {}


def test_a_trainer_may_have_flags_of_its_own() -> None:
    script = "torchrun pretrain_gpt.py --tensor-model-parallel-size 2 --seq-length 4096 --team-flag 1"
    assert "unknown-setting" not in judged(script, "megatron-lm", "0.15.0")


def test_what_the_release_refuses_together_is_an_error_of_a_server_and_a_note_of_a_trainer() -> None:
    found = judged("vllm serve m --max-num-batched-tokens 64 --max-num-seqs 128")["refused-together"]
    assert found.kind is FindingKind.CONTRADICTION
    assert found.level is FindingLevel.ERROR
    assert "refused-together" not in judged("vllm serve m --max-num-batched-tokens 4096 --max-num-seqs 128")
    assert "refused-together" not in judged("vllm serve m --max-num-batched-tokens $N --max-num-seqs 128")
    trainer = "torchrun pretrain_gpt.py --tensor-model-parallel-size 2 --seq-length 64 --bf16 --fp16"
    assert judged(trainer, "megatron-lm", "0.19.0")["refused-together"].level is FindingLevel.NOTE


def test_a_switch_that_takes_a_value_by_now_is_refused_without_one() -> None:
    script = "llama-server -m m.gguf -fa"
    found = judged(script, "llama.cpp", "b6673")["value-not-taken"]
    assert (found.kind, found.remedy) == (FindingKind.REFUSED, "-fa on")
    assert found.says["en"] == "takes a value since b6431"
    assert "value-not-taken" not in judged(script, "llama.cpp", "b5640")
    assert "value-not-taken" not in judged(f"{script} on", "llama.cpp", "b6673")


def test_a_misspelt_flag_is_refused_and_says_what_was_meant() -> None:
    found = judged("vllm serve m --gpu-memory-utilisation 0.9")["unknown-setting"]
    assert found.kind is FindingKind.REFUSED
    assert found.level is FindingLevel.ERROR
    assert found.remedy == "--gpu-memory-utilization 0.9"


def test_what_an_assumed_release_refuses_is_a_warning() -> None:
    found = judged("vllm serve m --num-scheduler-steps 8", told=False)["removed-setting"]
    assert found.level is FindingLevel.WARNING
    assert "assumed" in found.says["en"]
    assert "removed-setting" not in judged("vllm serve m --num-scheduler-steps 8", version="0.8.5")


def test_what_took_the_place_of_a_removed_setting_is_said_and_written() -> None:
    found = judged("vllm serve m --task embed", version="0.33.0")["removed-setting"]
    assert found.remedy == "--runner pooling --convert embed"
    assert found.successors == (("--runner", "pooling"), ("--convert", "embed"))
    field = judged("vllm serve m --guided-decoding-backend xgrammar", version="0.33.0")["removed-setting"]
    assert field.successors == (("--structured-outputs-config.backend", "xgrammar"),)
    assert (
        judged("vllm serve m --num-scheduler-steps 8", version="0.33.0")["removed-setting"].successors == ()
    )
    chosen = judged("VLLM_USE_FLASHINFER_MOE_FP8=1 vllm serve m", version="0.33.0")["removed-setting"]
    assert "--moe-backend took its place" in chosen.says["en"]
    assert (chosen.remedy, chosen.successors, chosen.removals) == ("", None, ())


def test_a_removed_flag_with_fields_is_one_finding_that_takes_the_flag_away() -> None:
    script = 'vllm serve m --rope-scaling \'{"rope_type": "yarn", "factor": 4.0}\''
    case = audit_case(running_settings(script), {"software": {"vllm": "0.33.0"}})
    [found] = judge_settings(case, ())
    assert (found.rule, found.kind, found.removals) == (
        "removed-setting", FindingKind.REFUSED, ("--rope-scaling",),
    )  # fmt: skip
    assert "hf_overrides.rope_parameters took its place" in found.says["en"]


def test_a_flag_before_its_release_is_refused() -> None:
    assert "later-setting" in judged("vllm serve m --async-scheduling", version="0.9.0")


def test_a_leftover_variable_of_the_site_is_but_a_note() -> None:
    assert judged("VLLM_USE_V1=1 vllm serve m")["removed-setting"].level is FindingLevel.NOTE


def test_a_misspelt_variable_is_ignored_and_an_own_one_is_nobodys() -> None:
    found = judged("VLLM_ASCEND_ENABLE_FLASHCOM=1 vllm serve m", "vllm-ascend", "0.11.0")
    assert found["unknown-setting"].kind is FindingKind.IGNORED
    assert judged("TEAM_NAME=serving vllm serve m") == {}


def test_a_value_that_is_none_of_the_choices_is_refused() -> None:
    script = "python -m sglang.launch_server --model-path m --attention-backend magic"
    assert judged(script, "sglang", "0.5.9")["value-not-taken"].kind is FindingKind.REFUSED
    assert "value-not-taken" not in judged("vllm serve m --max-model-len auto")


def test_pairs_where_a_release_wants_an_object_are_written_as_one() -> None:
    found = judged("vllm serve m --limit-mm-per-prompt image=20,video=2")["value-not-taken"]
    assert found.remedy == """--limit-mm-per-prompt '{"image": 20, "video": 2}'"""


@pytest.mark.parametrize("release", ["0.9.2", "0.18.0", "0.33.0"])
def test_a_percentage_of_memory_is_refused_by_every_release_and_the_share_is_written(release: str) -> None:
    script = "vllm serve m --gpu-memory-utilization"
    found = judged(f"{script} 90", "vllm", release)["value-not-taken"]
    assert found.kind is FindingKind.REFUSED
    assert found.remedy == "--gpu-memory-utilization 0.9"
    assert "value-not-taken" not in judged(f"{script} 1", "vllm", release)
    rollout = "python -m verl.trainer.main_ppo actor_rollout_ref.rollout.gpu_memory_utilization=60"
    assert judged(rollout, "verl", "")["value-not-taken"].remedy.endswith("=0.6")


def test_a_number_that_is_missing_is_refused() -> None:
    found = judged("vllm serve m --max-num-seqs --max-model-len 8192")["value-not-taken"]
    assert found.setting.key == "--max-num-seqs"


def test_a_flag_that_is_a_little_like_another_names_it() -> None:
    found = judged("vllm serve m --max-model-length 10")["unknown-setting"]
    assert "--max-model-len" in found.says["en"]


def test_many_choices_are_told_in_part() -> None:
    script = "python -m sglang.launch_server --model-path m --attention-backend magic"
    says = judged(script, "sglang", "0.5.9")["value-not-taken"].says["en"]
    assert says.count(", ") == 8
    assert says.endswith(", ...")


@pytest.mark.parametrize(
    ("version", "words", "remedy"),
    [
        ("0.33.0", "--enable-chunked-prefill false", "--no-enable-chunked-prefill"),
        ("0.9.1", "--enable-chunked-prefill=False", "--no-enable-chunked-prefill"),
        ("0.33.0", "--no-enable-chunked-prefill false", "--enable-chunked-prefill"),
        ("0.33.0", "--trust-remote-code true", "--trust-remote-code"),
        ("0.33.0", "--trust-remote-code", None),
        ("0.6.0", "--enable-chunked-prefill false", None),  # took a value then
    ],
)
def test_a_switch_takes_no_value(version: str, words: str, remedy: str | None) -> None:
    found = judged(f"vllm serve m {words}", version=version).get("value-not-taken")
    assert (None if found is None else found.remedy) == remedy
    assert found is None or found.stops
