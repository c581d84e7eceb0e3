"""``tunegraph workspace merge``: workspaces joined."""

from pathlib import Path
from typing import Any

import pytest

from recommender.workspace.workspace import Workspace


@pytest.fixture
def lab(tmp_path: Path, line: Any) -> Path:
    """Another workspace: one row that the toy has too, one that contradicts it, one that is new."""
    path, cases = tmp_path / "lab", tmp_path / "lab.jsonl"
    cases.write_text(line(0.8, block=8) + line(1.7, block=16) + line(9.9, block=256))
    Workspace.create(path, cache=tmp_path / "cache", text_model=None, with_shipped=False)
    with Workspace.editor(path, cache=tmp_path / "cache") as editor:
        editor.ingest([cases])
    return path


@pytest.mark.long
def test_a_workspace_is_joined_and_conflicts_are_told(run: Any, toy_path: Path, lab: Path) -> None:
    dry = run("workspace", "merge", lab, "--dry-run", "--json", workspace=toy_path).json
    assert (dry["rows_new"], dry["rows_known"], dry["conflict_count"]) == (2, 1, 1)
    joined = run("workspace", "merge", lab, "--label", "the lab", workspace=toy_path)
    assert joined.code == 0
    assert joined.out == (
        "2 rows, 0 problems, 0 described things and 0 effects without cases came from the lab\n"
    )
    assert "conflict: kernel_time of toy" in joined.err
    assert "ours 0.0016; theirs 0.0017" in joined.err
    again = run("workspace", "merge", lab, "--json", workspace=toy_path).json
    assert (again["rows_new"], again["rows_known"], again["conflict_count"]) == (0, 3, 0)
    assert run("kb", "stats", "--json", workspace=toy_path).json["cases"]["rows"] == 7


@pytest.mark.parametrize(("other", "code"), [("toy", 2), ("nothing", 1)])
def test_what_cannot_be_joined(run: Any, toy_path: Path, tmp_path: Path, other: str, code: int) -> None:
    ran = run("workspace", "merge", toy_path if other == "toy" else tmp_path / other, workspace=toy_path)
    assert ran.code == code
    assert ran.fault
