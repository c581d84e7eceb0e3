"""Conflicts that a program raises between its settings."""

from collections.abc import Mapping
from typing import Any

import pytest

from kg.nouns.values import Value
from kg.terms.setting_conflicts import broken_conflicts, companions
from kg.terms.setting_registry import SettingRegistry, registry


def broken(conflict: str, settings: Mapping[str, Value]) -> bool:
    content: dict[str, Any] = {
        "software": "toy",
        "source": "https://example.org/{ref}/{path}",
        "releases": [["1.0", "v1.0"]],
        "beneath": {},
        "settings": [
            {"key": "--first", "place": "flag", "type": "any", "conflicts": [conflict], "at": "a.py"},
            {"key": "--second", "place": "flag", "type": "any", "at": "a.py"},
        ],
    }
    return bool(broken_conflicts(SettingRegistry(content).at("1.0"), settings))


@pytest.mark.parametrize(
    ("conflict", "settings", "is_broken"),
    [
        ("--first and --second", {"first": True, "second": True}, True),
        ("--first and --second", {"--first": "1", "--second": "on"}, True),
        ("--first and --second", {"first": True, "second": False}, False),
        ("--first and --second", {"first": True}, False),
        ("--first is set and --second is unset", {"first": False}, True),
        ("--first is set and --second is unset", {"first": 1, "second": 0}, False),
        ("--first > 4", {"first": 5}, True),
        ("--first < 4", {"first": "many"}, False),
        ("--first > --second", {"first": 8, "second": 4}, True),
        ("--first == FULL", {"first": "full"}, True),
        ("--first != full", {"first": "none"}, True),
        ("--first in (a, b)", {"first": "B"}, True),
        ("no term at all, but words", {"first": 1}, False),
    ],
)
def test_a_conflict_is_broken_when_all_of_its_terms_hold(
    conflict: str, settings: Mapping[str, Value], is_broken: bool
) -> None:
    assert broken(conflict, settings) == is_broken


def test_what_is_not_set_has_its_default() -> None:
    release = registry("vllm-ascend").at("0.23.0")
    static = "additional_config.ascend_compilation_config.enable_static_kernel"
    graph = "additional_config.ascend_compilation_config.enable_npugraph_ex"
    assert broken_conflicts(release, {static: True}) == []
    assert broken_conflicts(release, {static: True, graph: False})


def test_conflicts_of_a_program_beneath_count() -> None:
    release = registry("vllm-ascend").at("0.23.0")
    [conflict] = broken_conflicts(release, {"kv_transfer_config.kv_connector": "a"})
    assert conflict == "kv_transfer_config.kv_connector is set and kv_transfer_config.kv_role is unset"
    both = {"kv_transfer_config.kv_connector": "a", "kv_transfer_config.kv_role": "kv_both"}
    assert broken_conflicts(release, both) == []


@pytest.mark.parametrize(("release", "refused"), [("2.3.0", True), ("26.1.0", False)])
def test_what_a_program_hides_from_the_checks_beneath_breaks_none_of_them(
    release: str, refused: bool
) -> None:
    told: dict[str, Value] = {"--spec": "a b", "--num-experts": 64}
    assert broken_conflicts(registry("megatron-lm").at("0.12.1"), told)
    assert not broken_conflicts(registry("mindspeed-llm").at(release), told)
    drafts: dict[str, Value] = {"--mtp-num-layers": 1, "--context-parallel-size": 2}
    assert bool(broken_conflicts(registry("mindspeed-llm").at(release), drafts)) is refused


@pytest.mark.parametrize(
    ("software", "change", "needed"),
    [
        ("megatron-lm", {"--tp-comm-overlap": True}, {"--sequence-parallel": True}),
        ("megatron-lm", {"--sequence-parallel": False, "--tp-comm-overlap": True}, None),
        ("megatron-lm", {"--sequence-parallel": True, "--tp-comm-overlap": True}, {}),
        ("vllm", {"kv_transfer_config.kv_connector": "a"}, None),
    ],
)
def test_a_conflict_that_lacks_a_switch_names_its_cure(
    software: str, change: Mapping[str, Value], needed: Mapping[str, Value] | None
) -> None:
    found = companions(registry(software).at(), {}, change)
    assert (None if found is None else dict(found)) == needed


@pytest.mark.parametrize(
    ("release", "chunked", "is_refused"),
    [("0.33.0", False, True), ("0.33.0", None, False), ("0.12.0", None, False), ("0.10.0", False, False)],
)
def test_a_whole_prompt_fits_in_a_step_that_is_not_chunked(
    release: str, chunked: bool | None, is_refused: bool
) -> None:
    settings: dict[str, Value] = {"--max-num-batched-tokens": 8192, "--max-model-len": 16384}
    settings |= {} if chunked is None else {"--enable-chunked-prefill": chunked}
    assert bool(broken_conflicts(registry("vllm").at(release), settings)) is is_refused


@pytest.mark.parametrize("release", ["0.8.5", "0.9.1", "0.10.0", "0.10.1"])
def test_switches_of_vllm_have_their_negation_in_each_release(release: str) -> None:
    found = registry("vllm").at(release).look_up("--no-enable-chunked-prefill", suggest=False)
    assert found.usable
    assert found.negated
