"""Releases folded into one file, and what changed between two."""

import json

from tools.oracle.settings.history import add_releases, state_in, state_of, to_text
from tools.oracle.settings.plans import Plan
from tools.oracle.settings.source import Mined

PLAN = Plan(software="toy", source="https://example.org/{ref}/{path}", beneath=("base",))


def flag(key: str, **fields: object) -> Mined:
    return Mined(key=key, place="flag", path="args.py", **{"type": "int", "stated": True, **fields})  # type: ignore[arg-type]


RELEASES = {
    "1.0": [
        flag("--stays", default=1),
        flag("--goes", default=1),
        flag("--blinks"),
        flag("--ring", type="str", choices=("a",)),
    ],
    "2.0rc1": [
        flag("--stays", default=1),
        flag("--goes", default=2),
        flag("--ring", type="str", choices=("a",)),
    ],
    "2.0": [
        flag("--stays", default=1),
        flag("--comes", default=5),
        flag("--blinks"),
        flag("--ring", type="str", choices=("a", "b")),
        flag("--goes", gone=True, replaced_by="--comes"),
    ],
}


def content(*order: str) -> dict[str, object]:
    made: dict[str, object] | None = None
    for name in order:
        made = add_releases(made, PLAN, {name: (f"v{name}", state_of(RELEASES[name]), {"base": name})})
    assert made is not None
    return made


def entries(made: dict[str, object]) -> dict[str, dict[str, object]]:
    settings = made["settings"]
    assert isinstance(settings, list)
    return {entry["key"]: entry for entry in settings}


def test_a_setting_is_held_once_with_its_releases() -> None:
    found = entries(content("1.0", "2.0rc1", "2.0"))
    assert found["--stays"]["default"] == [["1.0", 1]]
    assert "since" not in found["--stays"]
    assert (found["--goes"]["removed"], found["--goes"]["replaced_by"]) == ("2.0", "--comes")
    assert found["--goes"]["default"] == [["1.0", 1], ["2.0rc1", 2]]
    assert found["--comes"]["since"] == "2.0"
    assert found["--blinks"]["absent"] == ["2.0rc1"]
    assert found["--ring"]["choices"] == ["a", "b"]
    assert found["--ring"]["before"] == [["2.0", {"type": "str", "choices": ["a"]}]]


def test_the_order_in_which_releases_are_mined_does_not_matter() -> None:
    assert content("2.0", "1.0", "2.0rc1") == content("1.0", "2.0rc1", "2.0")


def test_mining_a_release_again_changes_nothing() -> None:
    once = content("1.0", "2.0rc1", "2.0")
    again = add_releases(
        once, PLAN, {"2.0rc1": ("v2.0rc1", state_of(RELEASES["2.0rc1"]), {"base": "2.0rc1"})}
    )
    assert again == once


def test_each_release_comes_back_as_it_was() -> None:
    made = content("1.0", "2.0rc1", "2.0")
    for name, settings in RELEASES.items():
        there = {identity for identity, entry in state_in(made, name).items() if "gone" not in entry}
        assert there == {(item.place, item.key) for item in settings if not item.gone}
    assert state_in(made, "1.0")["flag", "--ring"]["choices"] == ["a"]
    assert state_in(made, "1.0")["flag", "--goes"]["default"] == [1]


def test_the_file_is_json_with_a_setting_a_line() -> None:
    made = content("1.0", "2.0")
    text = to_text(made)
    assert json.loads(text) == made
    assert sum(line.startswith('{"key"') for line in text.splitlines()) == len(entries(made))


def test_a_flag_keeps_its_history_when_another_spelling_comes_first() -> None:
    old = state_of([flag("--tensor-parallel-size", aliases=("--tp-size",), default=1)])
    new = state_of([flag("--tp-size", aliases=("--tensor-parallel-size",), default=1)])
    made = add_releases(None, PLAN, {"1.0": ("v1.0", old, {})})
    made = add_releases(made, PLAN, {"2.0": ("v2.0", new, {})})
    found = entries(made)
    assert set(found) == {"--tp-size"}
    assert "since" not in found["--tp-size"]


def test_a_renamed_variable_is_another_setting() -> None:
    old = state_of([Mined(key="OLD", place="env", path="envs.py", type="bool")])
    new = state_of([Mined(key="NEW", place="env", path="envs.py", type="bool", aliases=("OLD",))])
    made = add_releases(None, PLAN, {"1.0": ("v1.0", old, {})})
    found = entries(add_releases(made, PLAN, {"2.0": ("v2.0", new, {})}))
    assert (found["OLD"]["removed"], found["NEW"]["since"]) == ("2.0", "2.0")


def test_a_path_is_no_default() -> None:
    state = state_of(
        [flag("--dump", type="str", default="/dumps"), flag("--mode", type="str", default="fast/safe")]
    )
    assert state["flag", "--dump"]["default"] == []
    assert state["flag", "--mode"]["default"] == ["fast/safe"]
