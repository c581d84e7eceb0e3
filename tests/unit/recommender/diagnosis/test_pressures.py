"""Settings of a server against a lack."""

import re

import pytest
import yaml

import data
from kg.nouns.knowledge import FaultPattern
from kg.terms.setting_registry import registry, softwares
from recommender.diagnosis.pressures import arguments_in, formula, home_of, lacks_of, moves_against
from recommender.store.shipped_knowledge import knowledge

TABLE = yaml.safe_load(data.text("settings/pressures.yaml"))
PROGRAMS = sorted(TABLE["programs"].keys() - {"tensorrt-llm"})
"""Those with a registry of settings."""


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
    held = [entry[part] for entry in entries for part in ("value", "enough") if part in entry]
    for text in (text for item in held for text in ([item] if isinstance(item, str) else item)):
        names = dict.fromkeys(re.findall(r"[a-z_]+", text), 2.0)
        assert formula(text, names) is not None, text
        assert formula(text, {}) is None


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


def test_an_unknown_server_has_no_moves() -> None:
    assert moves_against("device-memory", "other", {}) == []


@pytest.mark.parametrize("program", sorted(TABLE["homes"]))
def test_a_program_of_logs_has_a_home_with_settings(program: str) -> None:
    assert home_of(program) in softwares()
