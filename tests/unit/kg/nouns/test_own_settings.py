"""A user's own entries of the registry."""

from pathlib import Path

import pytest

from kg.errors import InputError
from kg.nouns.own_settings import OwnSettings

SHIPPED = {
    "software": "made",
    "source": "https://made.test/{ref}/{path}",
    "releases": [["1.0", "v1"], ["2.0", "v2"]],
    "beneath": {},
    "settings": [
        {"key": "--depth", "place": "flag", "type": "int", "default": [["1.0", 4]], "before": [["2.0", {}]]},
        {"key": "--kept", "place": "flag", "type": "str"},
    ],
}  # fmt: skip


def own(folder: Path, text: str) -> OwnSettings:
    (folder / "made.json").write_text(text)
    return OwnSettings(folder)


def test_own_entries_win_and_what_they_contradict_is_said(tmp_path: Path) -> None:
    mine = own(
        tmp_path,
        '{"settings": [\n{"key": "--depth", "place": "flag", "type": "int", "default": 8},\n'
        '{"key": "--ours", "place": "flag"}]}',
    )
    found = {item["key"]: item for item in mine.over("made", SHIPPED)["settings"]}
    assert set(found) == {"--depth", "--kept", "--ours"}
    assert (found["--depth"]["default"], found["--depth"]["before"]) == ([["1.0", 8]], [])
    assert found["--depth"]["at"] == f"{(tmp_path / 'made.json').as_uri()}#L2"
    assert mine.overruled == [
        f"{tmp_path / 'made.json'}: made --depth: default 8 is yours and counts; what ships says 4"
    ]


def test_a_program_that_does_not_ship_is_made_of_the_file(tmp_path: Path) -> None:
    mine = own(tmp_path, '{"settings": [{"key": "DEPTH", "place": "env"}]}')
    content = mine.over("made", {})
    assert (content["software"], content["releases"]) == ("made", [["main", "main"]])
    assert mine.softwares() == ("made",)
    named = own(tmp_path, '{"releases": ["1.0", "2.0"], "settings": []}')
    assert named.over("made", {})["releases"] == [["1.0", "1.0"], ["2.0", "2.0"]]
    assert mine.over("other", SHIPPED) is SHIPPED


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"settings": [', "line 1: Expecting value"),
        ("[]", "no object with a list of settings"),
        ('{"settings": [{"key": "a", "place": "flg", "type": "number"}, {"place": "flag"}]}',
         "setting 1: place is one of .*; setting 1: type is one of .*; setting 2 has no key"),
        ('{"settings": [{"key": "--a", "place": "flag"}, {"key": "--a", "place": "flag"}, {"key": "--b", "place": "flag", "aliases": ["--a"]}]}',
         "--a stands twice; --a is both --a and --b"),
        ('{"settings": [{"key": "--a", "place": "flag", "choices": "x", "low": "1"}, {"key": "--a", "place": "flag", "since": "soon"}]}',
         "setting 1: choices is a list; setting 1: low is a number; setting 2: since is a release; --a stands twice"),
        ('{"releases": "1.0", "settings": []}', "releases: names as"),
        ('{"releases": [["1.0", 5]], "settings": []}', "releases: names as"),
    ],
)  # fmt: skip
def test_every_fault_of_a_file_is_said_at_once(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        own(tmp_path, text).over("made", SHIPPED)


@pytest.mark.parametrize(
    ("ships", "said"),
    [
        (None, "nothing"),
        ([["1.0", 4], ["2.0", 6]], "6"),
        ([["1.0", 4], ["2.0"]], '"computed"'),
        ([1, 2], "[1, 2]"),
        ([], "[]"),
        ([[]], "[[]]"),
    ],
)
def test_what_ships_is_said_by_its_newest_value(tmp_path: Path, ships: object, said: str) -> None:
    mine = own(tmp_path, '{"settings": [{"key": "--depth", "place": "flag", "default": 8}]}')
    mine.over("made", {**SHIPPED, "settings": [{"key": "--depth", "place": "flag", "default": ships}]})
    assert [text.rpartition("what ships says ")[2] for text in mine.overruled] == [said]
