"""The folders of a user."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tunegraph
from kg.errors import InputError, WorkspaceError
from kg.terms.setting_registry import registry, use_own
from recommender.workspace.workspace import Workspace
from tunegraph.places import Places


def test_a_stated_workspace_wins_over_the_environment_and_that_over_the_users_own(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path)}
    own = Places.resolve(None, environment)
    assert own.workspace.is_relative_to(tmp_path)
    named = {**environment, "TUNEGRAPH_WORKSPACE": str(tmp_path / "named"), "TUNEGRAPH_CACHE": str(tmp_path)}
    assert Places.resolve(None, named) == Places(tmp_path / "named", tmp_path)
    assert Places.resolve(tmp_path / "stated", named).workspace == tmp_path / "stated"


@pytest.mark.parametrize("name", ["HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"])
def test_no_workspace_lies_beside_wherever_the_user_is(name: str, tmp_path: Path) -> None:
    found = Places.resolve(None, {"HOME": str(tmp_path), name: "relative"})
    assert found.workspace.is_absolute()
    assert found.cache.is_absolute()


def test_open_takes_the_workspace_of_the_command_line(
    shipped: Workspace, shipped_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUNEGRAPH_WORKSPACE", str(shipped_path))
    monkeypatch.setenv("TUNEGRAPH_CACHE", str(shipped_path.parent / "cache"))
    with tunegraph.open() as workspace:
        assert workspace.snapshot.knowledge_version == shipped.snapshot.knowledge_version
        assert workspace.layout.root == shipped_path


def test_open_lets_own_settings_win_as_the_command_line_does(
    shipped_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "regs").mkdir()
    (tmp_path / "tunegraph.toml").write_text('settings = "regs"\n')
    entry = '{"settings": [{"key": "--depth", "place": "flag", "type": "int", "default": 8}]}'
    (tmp_path / "regs" / "mine.json").write_text(entry)
    monkeypatch.chdir(tmp_path)
    try:
        tunegraph.open(shipped_path).close()
        assert registry("mine").at("").look_up("--depth").is_default(8)
        (tmp_path / "tunegraph.toml").write_text('settings = "absent"\n')
        with pytest.raises(InputError, match="no folder"):
            tunegraph.open(shipped_path)
    finally:
        use_own(tmp_path / "none")


def test_what_is_no_workspace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(WorkspaceError):
        tunegraph.open(tmp_path)


def test_the_face_is_light_and_has_every_name() -> None:
    code = (
        "import sys, tunegraph\n"
        "print(sorted({'numpy', 'recommender', 'kg'} & {name.partition('.')[0] for name in sys.modules}))\n"
        "print([getattr(tunegraph, name).__module__ for name in tunegraph.__all__ if name != '__version__'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(Path(tunegraph.__file__).parent.parent), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = done.stdout.splitlines()
    assert first == "[]"
    assert "recommender.search.engine.search" in second
    with pytest.raises(AttributeError):
        tunegraph.nothing  # noqa: B018
