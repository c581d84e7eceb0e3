"""``tunegraph doctor``: what is wrong with a workspace, and what mends it."""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from recommender.files import WorkspaceFiles
from recommender.workspace.workspace import Workspace
from tests.samples.toy_cases import case_line


@pytest.fixture(scope="session")
def five_problems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of five problems, not to be written to."""
    place = tmp_path_factory.mktemp("five")
    Workspace.create(place / "workspace", cache=place / "cache", text_model=None, with_shipped=False)
    with Workspace.open(place / "workspace", cache=place / "cache") as workspace:
        workspace.ingest(cases(place))
    return place / "workspace"


def cases(folder: Path) -> Path:
    file = folder / "cases.jsonl"
    file.write_text("".join(case_line(size=size) for size in range(1, 6)))
    return file


@pytest.fixture
def filled(five_problems: Path, tmp_path: Path) -> Path:
    cases(tmp_path)
    return shutil.copytree(five_problems, tmp_path / "workspace")


def faults(ran: Any) -> dict[str, str]:
    return {item["about"]: item["remedy"] for item in ran.json["findings"] if item["severity"] == "fault"}


@pytest.mark.parametrize("which", ["small", pytest.param("shipped", marks=pytest.mark.long)])
def test_a_sound_workspace_has_no_fault(run: Any, filled: Path, which: str) -> None:
    ran = run("doctor", "--json", workspace=filled if which == "small" else None)
    assert ran.code == 0
    assert ran.json["faults"] == 0
    assert {
        "packages",
        "text model",
        "live graph",
        "published graph",
        "rows",
        "problems",
        "vectors",
        "index",
    } <= {item["about"] for item in ran.json["findings"]}


def test_the_table_says_what_to_do(run: Any, filled: Path) -> None:
    ran = run("doctor", workspace=filled)
    assert ran.code == 0
    assert "what to do" in ran.out
    assert "the graph and the trial store agree" in ran.out


def test_lost_vectors_are_found_and_made_again(run: Any, filled: Path) -> None:
    with sqlite3.connect(WorkspaceFiles(filled).trials) as trials:
        trials.execute("UPDATE vectors SET vector = zeroblob(8)")
    found = run("doctor", "--json", workspace=filled)
    assert (found.code, faults(found)["vectors"]) == (1, "tunegraph doctor --repair")
    repaired = run("doctor", "--repair", "--json", workspace=filled)
    assert (repaired.code, faults(repaired)) == (0, {})


def test_a_lost_index_heals_by_itself(run: Any, shipped_path: Path, filled: Path) -> None:
    for item in (filled / "index").glob("*"):
        item.write_bytes(b"garbage")
    assert run("doctor", "--repair", workspace=filled).code == 0


@pytest.mark.long
def test_a_writer_does_not_begin_anew_what_is_lost(run: Any, filled: Path, tmp_path: Path) -> None:
    lost = WorkspaceFiles(filled).trials
    kept = tmp_path / "kept"
    lost.rename(kept)
    ran = run("ingest", tmp_path / "cases.jsonl", workspace=filled)
    assert (ran.code, ran.out) == (1, "")
    assert ran.fault == f"{lost} is missing"
    kept.rename(lost)
    assert run("kb", "stats", "--json", workspace=filled).json["cases"]["rows"] == 5
    assert run("doctor", workspace=filled).code == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (json.dumps({"format": 99}), "is a workspace of format 99, this program reads format 2"),
        ("[]", "is a workspace of format None"),
        ("{", "workspace.json is damaged"),
    ],
)
def test_another_version_is_refused_by_readers_and_writers(
    run: Any, filled: Path, content: str, says: str
) -> None:
    WorkspaceFiles(filled).manifest.write_text(content)
    for command in (["kb", "stats"], ["doctor", "--repair"]):
        ran = run(*command, workspace=filled)
        assert (ran.code, ran.out) == (1, "")
        assert says in ran.fault


def test_a_damaged_trial_store_is_one_line(run: Any, filled: Path) -> None:
    WorkspaceFiles(filled).trials.write_bytes(b"garbage" * 1000)
    ran = run("kb", "stats", workspace=filled)
    assert (ran.code, ran.out) == (1, "")
    assert "is damaged or no trial store" in ran.fault


def test_no_workspace_is_made_over_other_things(run: Any, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    ran = run("kb", "stats", workspace=tmp_path)
    assert (ran.code, ran.out) == (1, "")
    assert "neither empty nor a workspace: it holds thesis.tex" in ran.fault
    assert [item.name for item in tmp_path.glob("*.tex")] == ["thesis.tex"]


def test_a_file_in_its_place_is_no_workspace(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("text")
    ran = run("kb", "stats", workspace=file)
    assert (ran.code, ran.out) == (1, "")
    assert "cannot make a workspace" in ran.fault
