"""A workspace of the form before is carried over, also where that was cut off, and refused until then."""

import json
import sqlite3
from pathlib import Path

import pytest

from data import text
from kg.errors import WorkspaceError
from kg.rows import carrying
from recommender.files import OLD_FORMAT, WorkspaceFiles
from recommender.store.upkeep import upgrade
from recommender.workspace.upkeep import UpkeepDesk
from recommender.workspace.workspace import Workspace
from tests.samples.toy_cases import write_cases


@pytest.fixture
def old(empty_path: Path) -> Path:
    """A workspace of five rows as the program before left it, and two rows of a batch that it did not end."""
    with Workspace.editor(empty_path, cache=empty_path.parent) as editor:
        editor.ingest([write_cases(empty_path, range(1, 6))])
    layout = WorkspaceFiles(empty_path)
    with sqlite3.connect(layout.trials) as file:
        for table in ("batches", "statements", "encoders", "vectors"):
            file.execute(f"DROP TABLE {table}")
        file.execute("CREATE TABLE batches (number INTEGER PRIMARY KEY, seal TEXT, acknowledged INTEGER)")
        file.execute("CREATE TABLE quarantine (content TEXT)")
        columns = [row[1] for row in file.execute("PRAGMA table_info(trials)")]
        chosen = ", ".join({"batch": "2", "outcome": "outcome + 1"}.get(name, name) for name in columns)
        file.execute(f"INSERT INTO trials SELECT {chosen} FROM trials WHERE problem < 3")  # noqa: S608
        file.execute("PRAGMA user_version = 2")
    (empty_path / "vectors.log").write_bytes(b"of the form before")
    layout.write({**layout.read(), "format": OLD_FORMAT, "acknowledged": {"batch": 1, "seal": ""}})
    return empty_path


def rows(path: Path) -> int:
    found = [*UpkeepDesk.examine(path, deep=True)]
    with Workspace.open(path, cache=path.parent) as workspace:
        found += workspace.upkeep.check()
        assert [item for item in found if item.severity == "fault"] == []
        return workspace.trials.counts().trials


def test_what_was_acknowledged_is_carried_over_once(old: Path) -> None:
    with pytest.raises(WorkspaceError, match="format 1"):
        Workspace.open(old, cache=old.parent)
    assert UpkeepDesk.upgrade(old, cache=old.parent)
    assert rows(old) == 5
    assert not (old / "vectors.log").exists()
    assert not UpkeepDesk.upgrade(old, cache=old.parent)
    with Workspace.editor(old, cache=old.parent) as editor:
        editor.ingest([write_cases(old, range(6, 9))])
    assert rows(old) == 8


@pytest.mark.parametrize("step", ["before", "between"])
def test_one_that_was_cut_off_is_refused_and_goes_on(
    old: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        if step == "before":
            broken.setattr(carrying.batches, "record_change", fail)
        else:
            broken.setattr(upgrade, "_MARK", [])  # cannot be hashed: fails before the manifest is written
        with pytest.raises((KeyboardInterrupt, TypeError)):
            UpkeepDesk.upgrade(old, cache=old.parent)
    assert json.loads((old / "workspace.json").read_text())["format"] == OLD_FORMAT
    with pytest.raises(WorkspaceError, match="format 1"):
        Workspace.open(old, cache=old.parent)
    assert UpkeepDesk.upgrade(old, cache=old.parent)
    assert rows(old) == 5


def test_rows_that_the_graph_does_not_acknowledge_are_refused(old: Path) -> None:
    trials = WorkspaceFiles(old).trials
    with sqlite3.connect(trials) as file:
        file.execute("DELETE FROM trials WHERE problem = 3")
    before = trials.read_bytes()
    with pytest.raises(WorkspaceError, match="acknowledges 5 rows of batch 1, not 4"):
        UpkeepDesk.upgrade(old, cache=old.parent)
    assert trials.read_bytes() == before


def test_a_file_of_another_form_is_refused(old: Path) -> None:
    with sqlite3.connect(WorkspaceFiles(old).trials) as file:
        file.execute("PRAGMA user_version = 9")
    with pytest.raises(WorkspaceError, match="has format 9"):
        UpkeepDesk.upgrade(old, cache=old.parent)
    assert all(";\n" not in part.strip() for part in text("trials/batches.sql").split(";\n"))
