"""Settings in files and overrides, against the facts of releases and of a small program of our own."""

import json
from pathlib import Path
from typing import Any

import pytest

from tools.oracle.facts import Facts
from tools.oracle.files import as_flags, dictionary, objects, overrides

FIELDS: dict[str, dict[str, Any]] = {
    "steps": {"key": "steps", "type": "int", "low": 1.0},
    "kind": {"key": "kind", "type": "str", "choices": ["ONE", "TWO"], "folds": True},
    "mode": {"key": "mode", "type": "str", "choices": ["a"]},
    "shards": {"key": "shards", "type": "object", "forbids": True},
    "shards.count": {"key": "shards.count", "type": "int"},
    "free": {"key": "free", "type": "object", "open": True},
}


def toy(file: str) -> Facts:
    flags = {"--config": {"key": "--config", "type": "object"}}
    return Facts(
        program="toy", release="1", flags=flags, fields=FIELDS, variables={}, abbreviates=False,
        dotted=False, dashed=False, positional=0, file=file,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            {"steps": 4, "kind": "one", "mode": "a", "shards": {"count": "3"}, "free": {"x": 1}, "other": 1},
            [],
        ),
        ({"steps": "many"}, ["steps: invalid int value: 'many'"]),
        ({"steps": 0}, ["steps: 0 is less than 1"]),
        ({"mode": "A"}, ["mode: invalid choice: 'A' (choose from a)"]),
        ({"shards": {"counts": 3}}, ["shards.counts: unexpected keyword argument"]),
        ({"shards": 3}, ["shards: invalid object value: 3"]),
    ],
)
def test_a_json_file_is_held_against_its_fields(content: dict[str, object], said: list[str]) -> None:
    assert list(dictionary(toy("json"), [json.dumps(content)])) == said


def test_a_file_and_single_keys_are_one_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "ds.json"
    path.write_text('{"steps": 1}')
    assert list(dictionary(toy("json"), [str(path), "shards.count=x"])) == [
        "shards.count: invalid int value: 'x'"
    ]
    with pytest.raises(ValueError, match="not a JSON object"):
        list(dictionary(toy("json"), [_written(tmp_path / "list.json", "[1]")]))


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("steps=1", ""),
        ("stepz=1", "could not override stepz: no such key"),
        ("+steps=1", "could not append to steps: it is already there"),
        ("+free.x=1", ""),
        ("++free.x=1", ""),
        ("~stepz", "could not override stepz: no such key"),
        ("shards.count", "missing = in override: shards.count"),
    ],
)
def test_overrides_are_refused_as_hydra_refuses_them(word: str, said: str) -> None:
    assert list(overrides(toy("overrides"), ["verl.trainer.main_ppo", word])) == ([said] if said else [])


def test_a_yaml_file_is_read_as_flags(tmp_path: Path) -> None:
    path = _written(tmp_path / "a.yaml", "bf16: true\ntargets: [q, k]\nrate: 1.0e-4\nnothing: null\n")
    assert as_flags([path, "stage=sft", "--x"]) == [
        "--bf16", "true", "--targets", "q", "k", "--rate", "0.0001", "--stage=sft", "--x",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="no mapping"):
        as_flags([_written(tmp_path / "b.yaml", "- 1\n")])


def test_the_json_of_a_flag_is_passed_over_where_nothing_forbids_it() -> None:
    assert list(objects(toy(""), {"--config": {"unknown": 1}})) == []


def _written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)
