"""The benchmark of planted costs: what it plants is found, and a launch without costs is clean."""

from typing import Any

from benchmarks.answers.findings import KINDS, as_published, plant, running_of
from kg.nouns.setting import SettingPlace
from recommender.workspace.workspace import Workspace

ROW: dict[str, Any] = {
    "id": "toy",
    "framework": "vllm-ascend",
    "framework_version": "0.23.0",
    "family": "qwen3",
    "model": "Qwen3-32B",
    "phase": "serve",
    "hardware_node": "ascend-910b3",
    "devices": 4,
    "instances": 1,
    "context": {},
    "layout": {},
    "settings": [
        {"where": "flag", "key": "--tensor-parallel-size", "value": "4"},
        {"where": "env", "key": "HCCL_OP_EXPANSION_MODE", "value": "AIV"},
        {"where": "json", "key": "compilation_config.cudagraph_mode", "value": "FULL_DECODE_ONLY"},
    ],
}


def test_every_kind_that_goes_with_a_launch_is_found_in_it(shipped: Workspace) -> None:
    found = plant(shipped, [ROW], most=1)
    assert len(found) >= 15
    assert set(found) <= {kind.kind for kind in KINDS}
    assert {kind: hits for kind, hits in found.items() if hits != [True]} == {}


def test_a_launch_as_it_was_published_is_clean_or_its_findings_are_counted(shipped: Workspace) -> None:
    clean = as_published(shipped, [ROW])
    assert (clean["recipes"], clean["findings_share"]) == (1, 0.0)
    eager = {
        **ROW,
        "settings": [*ROW["settings"], {"where": "flag", "key": "--enforce-eager", "value": "true"}],
    }
    accused = as_published(shipped, [ROW, eager])
    assert accused["errors_share"] == 0.5
    assert accused["findings_by_rule"]["eager-mode"] == 1


def test_settings_keep_their_places() -> None:
    places = {item.key: item.place for item in running_of(ROW) if item.is_known}
    assert places["HCCL_OP_EXPANSION_MODE"] is SettingPlace.ENV
    assert places["compilation_config.cudagraph_mode"] is SettingPlace.JSON
    dotted = {**ROW, "settings": [{"where": "flag", "key": "--speculative-config.method", "value": "mtp"}]}
    assert [item.key for item in running_of(dotted) if item.is_known] == ["speculative-config.method"]
