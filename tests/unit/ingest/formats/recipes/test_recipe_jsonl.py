"""Recipe JSONL: what comes through, what is refused with its line, and the way back."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.formats.recipes.recipe_jsonl import write
from ingest.reading import FileReport, read
from kg.nouns.recipe import Authority, Recipe, Role
from kg.nouns.setting import SettingPlace
from tests.unit.ingest.conftest import PlainNames

RECORD: dict[str, Any] = {
    "role": "decode",
    "model": "BERT Large",
    "hardware": "Ascend 910C",
    "devices": 8,
    "nodes": 2,
    "framework": "vllm-ascend",
    "version": "v0.13.0",
    "layout": {"tp": 4, "dp": 2, "ep": 8},
    "context": {"input_len": 2048},
    "settings": [
        {"where": "flag", "key": "--tensor-parallel-size", "value": "4"},
        {"where": "env", "key": "HCCL_BUFFSIZE", "value": "512"},
    ],
    "source": "https://github.com/vllm-project/vllm-ascend/blob/" + "a" * 40 + "/docs/guide.md#L10",
    "authority": "vendor-tutorial",
}


def taken(path: Path, names: PlainNames, *records: dict[str, Any]) -> tuple[list[Recipe], FileReport]:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    *recipes, report = read([path], names)
    assert isinstance(report, FileReport)
    return [item for item in recipes if isinstance(item, Recipe)], report


def test_a_record_becomes_a_recipe(tmp_path: Path, names: PlainNames) -> None:
    (recipe,), report = taken(tmp_path / "r.jsonl", names, RECORD)
    assert (report.good, report.bad) == (1, 0)
    assert (recipe.role, recipe.authority) == (Role.DECODE, Authority.VENDOR_TUTORIAL)
    assert (recipe.model, recipe.hardware) == ("bert-large", "ascend-910c")
    assert (recipe.devices, recipe.nodes, recipe.instances) == (8, 2, 1)
    assert recipe.source.commit == "a" * 40
    assert recipe.source.path == "docs/guide.md"
    assert [(item.where, item.key) for item in recipe.settings] == [
        (SettingPlace.FLAG, "--tensor-parallel-size"),
        (SettingPlace.ENV, "HCCL_BUFFSIZE"),
    ]


def test_what_is_written_is_read_back(tmp_path: Path, names: PlainNames) -> None:
    (recipe,), _ = taken(tmp_path / "r.jsonl", names, RECORD)
    again = tmp_path / "again.jsonl"
    again.write_text("".join(write([recipe])), encoding="utf-8")
    *recipes, _ = read([again], names)
    assert isinstance(recipes[0], Recipe)
    assert (recipes[0].id, recipes[0].settings, recipes[0].layout) == (
        recipe.id,
        recipe.settings,
        recipe.layout,
    )


def test_an_unknown_name_is_told_and_kept(tmp_path: Path, names: PlainNames) -> None:
    record = RECORD | {"model": "Qwen9-1T-W8A8", "hardware": "Ascend 9999"}
    (recipe,), report = taken(tmp_path / "r.jsonl", names, record)
    assert (recipe.model, recipe.reported_model, recipe.hardware) == ("qwen9-1t", "Qwen9-1T-W8A8", "")
    told = " ".join(report.guesses)
    assert "Qwen9-1T-W8A8" in told
    assert "Ascend 9999" in told


def test_a_setting_that_its_own_release_dropped_is_told_and_a_number_is_its_text(
    tmp_path: Path, names: PlainNames
) -> None:
    change = flag(key="--num-scheduler-steps", value=8) | {"framework": "vllm", "version": "0.33.0"}
    (recipe,), report = taken(tmp_path / "r.jsonl", names, RECORD | change)
    assert recipe.settings[0].value == "8"
    assert "vllm --num-scheduler-steps: removed in 0.10.1; a recipe of 0.33.0 sets it" in report.guesses


def flag(**others: Any) -> dict[str, Any]:
    return {"settings": [{"where": "flag", "key": "--x", "value": "1"} | others]}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"devices": 16}, "tp 4 x dp 2 makes 8 devices, not 16"),
        ({"layout": {"tp": 8, "ep": 16}}, "ep 16 is more than the 8 devices it spans"),
        (flag(where="flags"), "settings[0].where: 'flags' is none of"),
        (flag(where="flags"), "did you mean flag?"),
        (flag(value=None), "settings[0]: needs where, key and value"),
        (flag(key=""), "settings[0].key: empty"),
        ({"source": None}, "source: missing"),
        ({"settings": []}, "settings: a list"),
        ({"authority": None}, "authority: missing"),
        ({"devices": None}, "devices: missing"),
        ({"model": None}, "model: missing"),
        ({"framework": 7}, "framework: a text, not 7"),
        ({"layout": ["tp"]}, "layout: an object"),
        ({"id": "mine", "title": "another"}, "id: mine says something else on line 1"),
    ],
)
def test_a_bad_record_is_refused_with_its_line_and_the_others_are_kept(
    change: dict[str, Any], says: str, tmp_path: Path, names: PlainNames
) -> None:
    recipes, report = taken(tmp_path / "r.jsonl", names, RECORD | {"id": "mine"}, RECORD | change)
    assert len(recipes) == 1
    (fault,) = report.faults
    assert fault.place == "line 2"
    assert says in fault.reason
