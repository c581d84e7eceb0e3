"""The user's file of defaults."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.errors import InputError
from tunegraph.places import Places
from tunegraph.user_file import (
    FILE,
    UserSettings,
    find_user_settings,
    read_user_settings,
    write_user_settings,
)

TEXT = 'hardware = "ascend-910b3"\ncount = 8\nlanguage = "zh"\n'


def test_the_nearest_file_above_the_folder_counts_then_the_users_own(tmp_path: Path) -> None:
    inner = tmp_path / "project" / "deep"
    inner.mkdir(parents=True)
    own = tmp_path / "home" / ".config" / "tunegraph"
    own.mkdir(parents=True)
    environment = {"HOME": str(tmp_path / "home")}
    assert find_user_settings(inner, environment) == UserSettings()
    (own / FILE).write_text('hardware = "h200"\n')
    assert find_user_settings(inner, environment).hardware == "h200"
    (tmp_path / "project" / FILE).write_text(TEXT)
    found = find_user_settings(inner, environment)
    assert (found.path, found.hardware, found.count) == (tmp_path / "project" / FILE, "ascend-910b3", 8)
    assert found.language == "zh"


def test_its_workspace_lies_beside_it_and_gives_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / FILE).write_text('workspace = "mine"\n')
    monkeypatch.chdir(tmp_path)
    assert Places.resolve(None, {"HOME": str(tmp_path)}).workspace == tmp_path / "mine"
    named = {"HOME": str(tmp_path), "TUNEGRAPH_WORKSPACE": str(tmp_path / "named")}
    assert Places.resolve(None, named).workspace == tmp_path / "named"
    assert Places.resolve(tmp_path / "stated", named).workspace == tmp_path / "stated"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('hardware = "x"\ncount four = 4\n', "line 2, at 'four': Expected '='"),
        ('hardware = "x"\n\ncout = 4\n', "line 3: unknown key cout"),
        ('count = "4"\n', "line 1: count = '4' is not a number of devices"),
        ("count = 0\n", "line 1: count = 0 is not a number of devices"),
        ('hardware = ""\n', "line 1: hardware = '' is not a text in quotes"),
    ],
)
def test_a_broken_file_is_refused_with_line_and_word(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / FILE
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(f"{path}: {says}")):
        read_user_settings(path)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"hardware = '\xff'\n")
    with pytest.raises(InputError, match="not UTF-8"):
        read_user_settings(tmp_path / FILE)


@given(st.text(min_size=1, max_size=20).filter(str.isprintable), st.integers(1, 4096))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, name: str, count: int
) -> None:
    path = tmp_path_factory.mktemp("made") / FILE
    write_user_settings(path, UserSettings(hardware=name, count=count), {"hardware": f"from {name}"})
    assert read_user_settings(path) == UserSettings(path=path, hardware=name, count=count)
    with pytest.raises(InputError, match="already"):
        write_user_settings(path, UserSettings(), {})
