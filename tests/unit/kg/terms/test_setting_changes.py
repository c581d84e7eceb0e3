"""Changes of a program's settings between two releases."""

from collections.abc import Iterator

import pytest

from kg.errors import UnknownEntityError
from kg.terms import setting_changes as module
from kg.terms.setting_changes import setting_changes
from kg.terms.setting_registry import SettingRegistry, registry, softwares

CONTENT = {
    "software": "made",
    "source": "https://made.test/{ref}/{path}",
    "releases": [["1.0", "v1.0"], ["2.0", "v2.0"], ["3.0", "v3.0"]],
    "beneath": {},
    "settings": [
        {"key": "--gone", "place": "flag", "type": "int", "removed": "3.0", "default": [["1.0", 4]]},
        {"key": "--old", "place": "flag", "removed": "2.0", "replaced_by": "--new"},
        {"key": "--new", "place": "flag", "since": "2.0", "default": [["2.0", "a"]]},
        {"key": "--fresh", "place": "flag", "since": "3.0", "default": [["3.0", True]]},
        {"key": "--kept", "place": "flag", "type": "int", "default": [["1.0", 1], ["2.0", 2]], "at": "x.py#L3"},
        {"key": "--mode", "place": "flag", "choices": ["b", "c"], "before": [["3.0", {"choices": ["a", "b"]}]]},
    ],
}  # fmt: skip


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A program of three releases in place of the shipped ones."""
    content = SettingRegistry(CONTENT)
    monkeypatch.setattr(module, "registry", lambda _: content)
    return iter(())


@pytest.mark.usefixtures("made")
def test_each_kind_of_difference_is_named_with_the_release_that_made_it() -> None:
    found = setting_changes("made", "1.0", "3.0")
    assert [(item.what, item.key, item.since, item.before, item.after) for item in found.changes] == [
        ("removed", "--gone", "3.0", "4", ""),
        ("renamed", "--old", "2.0", "--old", "--new"),
        ("added", "--fresh", "3.0", "", "True"),
        ("default", "--kept", "2.0", "1", "2"),
        ("takes", "--mode", "3.0", "a", "c"),
    ]
    kept = next(item for item in found.changes if item.key == "--kept")
    assert kept.source == "https://made.test/v3.0/x.py#L3"


@pytest.mark.usefixtures("made")
def test_the_way_back_undoes_what_the_way_did_and_the_same_one_twice_differs_in_nothing() -> None:
    found = setting_changes("made", "3.0", "1.0")
    assert found.releases == ("3.0", "1.0")
    assert [(item.what, item.key, item.since, item.before, item.after) for item in found.changes] == [
        ("removed", "--fresh", "3.0", "True", ""),
        ("renamed", "--new", "2.0", "--new", "--old"),
        ("added", "--gone", "3.0", "", "4"),
        ("default", "--kept", "2.0", "2", "1"),
        ("takes", "--mode", "3.0", "c", "a"),
    ]
    assert setting_changes("made", "2.0", "2.0").changes == ()


@pytest.mark.parametrize("software", softwares())
def test_a_shipped_program_differs_from_itself_in_what_its_releases_have(software: str) -> None:
    releases = registry(software).releases
    low, high = registry(software).at(releases[0]), registry(software).at(releases[-1])
    old, new = ({(item.place.value, item.key) for item in one} for one in (low, high))
    found = setting_changes(software, releases[0], releases[-1]).changes
    gone = {(item.place, item.key) for item in found if item.what in {"removed", "renamed"}}
    come = {(item.place, item.key) for item in found if item.what == "added"}
    assert gone == old - new
    assert come <= new - old


def test_what_is_no_release_is_refused() -> None:
    with pytest.raises(UnknownEntityError, match="names no release of vllm"):
        setting_changes("vllm", "0.18", "newest-ish")
