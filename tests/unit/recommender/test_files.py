"""Where the parts lie, and what is refused."""

import json
from pathlib import Path

import pytest

from kg.errors import WorkspaceError
from recommender.files import FORMAT, SUMS, WorkspaceFiles, folder_faults, write_folder


@pytest.fixture
def layout(tmp_path: Path) -> WorkspaceFiles:
    made = WorkspaceFiles(tmp_path / "workspace")
    made.prepare()
    made.create({"by": "a test"})
    return made


def test_what_was_written_is_read(layout: WorkspaceFiles) -> None:
    assert layout.exists()
    assert layout.read() == {"format": FORMAT, "by": "a test"}
    assert [item.name for item in layout.root.iterdir() if item.name.endswith(".new")] == []


def test_a_writer_wants_the_rows_to_be_there(layout: WorkspaceFiles) -> None:
    with pytest.raises(WorkspaceError, match=r"trials\.sqlite3 is missing"):
        layout.read(for_writing=True)
    layout.trials.touch()
    assert layout.read(for_writing=True) == layout.read()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (json.dumps({"format": FORMAT - 1}), f"format {FORMAT - 1}, this program reads format {FORMAT}"),
        (json.dumps({"format": FORMAT + 1}), f"format {FORMAT + 1}, this program reads format {FORMAT}"),
        (json.dumps({"format": str(FORMAT)}), "is a workspace of format"),
        ("[1]", "is a workspace of format None"),
        ("", "is damaged"),
        ("\x00\x00", "is damaged"),
    ],
)
def test_a_manifest_that_is_none_is_refused(layout: WorkspaceFiles, content: str, says: str) -> None:
    layout.manifest.write_text(content)
    with pytest.raises(WorkspaceError, match=says) as raised:
        layout.read()
    assert raised.value.hint


def test_none_is_no_workspace(tmp_path: Path) -> None:
    assert not WorkspaceFiles(tmp_path).exists()
    with pytest.raises(WorkspaceError, match="is not a workspace"):
        WorkspaceFiles(tmp_path).read()


def test_a_second_one_is_not_made_in_the_same_place(layout: WorkspaceFiles) -> None:
    with pytest.raises(WorkspaceError, match="is a workspace already"):
        layout.prepare()


def test_what_a_killed_maker_left_can_be_made_again(tmp_path: Path) -> None:
    layout = WorkspaceFiles(tmp_path)
    layout.prepare()
    layout.live.mkdir()
    layout.trials.touch()
    layout.lock.touch()
    layout.prepare()
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(WorkspaceError, match=r"it holds thesis\.tex"):
        layout.prepare()


def test_one_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    made = WorkspaceFiles(tmp_path / "workspace")
    made.prepare()
    made.manifest.mkdir()
    with pytest.raises(WorkspaceError, match="cannot make a workspace at"):
        made.create({"by": "a test"})
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError, match="cannot make a workspace at"):
        WorkspaceFiles(tmp_path / "file" / "below").prepare()


def test_a_folder_that_is_not_what_was_written_is_told(tmp_path: Path) -> None:
    write_folder(tmp_path / "v0", {"a": b"1", "b": b"2"})
    folder = tmp_path / "v0"
    assert folder_faults(folder) == []
    (folder / "a").write_bytes(b"3")
    (folder / "c").touch()
    assert folder_faults(folder) == [f"{folder / name} is not what was written" for name in ("a", "c")]
    (folder / "b").unlink()
    assert "is damaged" in folder_faults(folder)[0]
    (folder / SUMS).unlink()
    assert "is damaged" in folder_faults(folder)[0]
