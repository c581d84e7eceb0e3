"""Settings of a server against a lack."""

import re

import pytest
import yaml

import data
from kg.nouns.knowledge import FaultPattern
from kg.terms.setting_registry import registry
from recommender.diagnosis.pressures import RELEASE, arguments_in, formula, lacks_of, moves_against
from recommender.store.shipped_knowledge import knowledge

TABLE = yaml.safe_load(data.text("settings/pressures.yaml"))
PROGRAMS = sorted(TABLE["programs"])


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_setting_is_one_of_the_registry(program: str) -> None:
    release = registry(program).at()
    named = {entry["key"] for moves in TABLE["programs"][program].values() for entry in moves}
    named |= set(TABLE["names"].get(program, {}).values())
    assert [key for key in named if release.look_up(key, suggest=False).setting is None] == []


def test_each_fault_of_the_table_is_known() -> None:
    known = {noun.id for noun in knowledge() if isinstance(noun, FaultPattern)}
    assert {fault for shown in TABLE["lacks"].values() for fault in shown} <= known
    assert set(TABLE["general"]) <= known


def test_each_formula_is_arithmetic_over_names() -> None:
    entries = [entry for lacks in TABLE["programs"].values() for moves in lacks.values() for entry in moves]
    held = [entry[part] for entry in entries for part in ("value", "enough", "brings") if part in entry]
    for text in (text for item in held for text in ([item] if isinstance(item, str) else item)):
        names = {name: 2.0 + place for place, name in enumerate(re.findall(r"[a-z_]+", text))}
        assert formula(text, names) is not None, text
        assert names == {} or formula(text, {}) is None


def test_a_lack_is_met_once_in_the_order_of_its_faults() -> None:
    assert lacks_of(["sglang-retracts", "other", "cuda-out-of-memory", "vllm-preempts"]) == [
        "kv-block-shortage",
        "device-memory",
    ]


def test_each_phase_of_a_program_has_settings() -> None:
    for program, phases in TABLE["phases"].items():
        assert set(phases) <= set(TABLE["lacks"])
        assert {name for inside in phases.values() for name in inside.values()} <= set(
            TABLE["programs"][program]
        )


def test_a_move_goes_from_what_the_log_tells_else_from_the_default() -> None:
    told = arguments_in("non-default args: {'model': 'm', 'gpu_memory_utilization': 0.95, 'x': None}")
    assert told == {"model": "m", "gpu_memory_utilization": "0.95"}
    by_log = {move.key: move.text for move in moves_against("device-memory", "vllm-ascend", told)}
    assert by_log["--gpu-memory-utilization"] == "--gpu-memory-utilization lower than 0.95 (in the log)"
    by_default = moves_against("device-memory", "vllm", {})[0]
    assert by_default.current != ""
    assert by_default.origin != "log"


def test_arguments_are_read_from_the_line_that_tells_them_alone() -> None:
    assert arguments_in("server_args=ServerArgs(model_path='a/b', mem_fraction_static=0.88)") == {
        "model_path": "a/b",
        "mem_fraction_static": "0.88",
    }
    assert arguments_in("mem_fraction_static=0.88") == {}
    told = arguments_in(
        "Initializing a V1 LLM engine (v0.11.0) with config: model='m', tensor_parallel_size=4"
    )
    assert told == {RELEASE: "0.11.0", "model": "m", "tensor_parallel_size": "4"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("backend_config=PytorchEngineConfig(tp=1, cache_max_entry_count=0.95, adapters=None)", {"tp": "1", "cache_max_entry_count": "0.95"}),
        ("Error executing job with overrides: ['a.b.utilization=0.8', 'c.utilization=0.5']", {"utilization": "0.5", "a.b.utilization": "0.8", "c.utilization": "0.5"}),
        ("[server] [INFO] maxSeqLen: 32768, npuMemSize: 8", {"maxSeqLen": "32768", "npuMemSize": "8"}),
        ("+ vllm serve m/n --max-model-len 4096 --kv-cache-dtype=fp8", {"max_model_len": "4096", "kv_cache_dtype": "fp8"}),
        ("try vllm serve --max-model-len 4096", {}),
    ],
)  # fmt: skip
def test_programs_tell_their_arguments_in_lists_settings_and_commands(
    line: str, told: dict[str, str]
) -> None:
    assert arguments_in(line) == told


@pytest.mark.parametrize(
    ("line", "release", "default"),
    [
        ("Initializing a V1 LLM engine (v0.11.0) with config: model='a/B'", "0.11.0", "0.9"),
        ("vLLM API server version 0.33.0", "0.33.0", "0.92"),
        ("vLLM API server version 0.1.dev1+g1234567890", None, "0.92"),
        ("the engine starts", None, "0.92"),
    ],
)
def test_defaults_are_those_of_the_release_that_a_log_tells(
    line: str, release: str | None, default: str
) -> None:
    given = arguments_in(line)
    assert given.get(RELEASE) == release
    moves = {move.key: move for move in moves_against("kv-block-shortage", "vllm", given)}
    move = moves["--gpu-memory-utilization"]
    assert (move.current, release or move.origin) == (default, move.origin)


def test_a_move_that_changes_nothing_is_left_out() -> None:
    keys = {move.key for move in moves_against("cache-length", "vllm", {"kv_cache_dtype": "fp8_e5m2"})}
    assert keys == {"--max-model-len", "--gpu-memory-utilization", "--tensor-parallel-size"}


def test_a_setting_is_met_by_its_place_before_its_name() -> None:
    given = {
        "param_offload": "true",
        "actor_rollout_ref.actor.fsdp_config.param_offload": "false",
        "actor_rollout_ref.actor.fsdp_config.optimizer_offload": "True",
    }
    moves = {
        move.key.rpartition(".")[2]: move.current for move in moves_against("device-memory", "verl", given)
    }
    assert moves["param_offload"] == "false"
    assert "optimizer_offload" not in moves
