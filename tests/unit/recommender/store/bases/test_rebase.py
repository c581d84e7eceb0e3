"""A workspace above another: the same answers as one workspace, its own kept, the base only read."""

from __future__ import annotations

import os
import shutil
import signal
import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from kg.errors import InputError, WorkspaceError
from kg.nouns.entities import Trust
from kg.nouns.knowledge import HardwareProfile
from kg.triples.serialisation import all_of, from_graph
from recommender.files import WorkspaceFiles
from recommender.store.base import Base
from recommender.store.ingestion import Options
from recommender.workspace.upkeep import UpkeepDesk
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.store.bases.conftest import answers, line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Ingest = Callable[..., None]
    Describe = Callable[[Path, str, str], None]


def bytes_of(path: Path) -> dict[str, str]:
    """Digests of every file of a workspace that says something of its content."""
    left_out = ("LOCK", "LOG", "lock", "trials.sqlite3-")
    return {
        str(item.relative_to(path)): sha256(item.read_bytes()).hexdigest()
        for item in sorted(path.rglob("*"))
        if item.is_file() and not item.name.startswith(left_out)
    }


def labels(path: Path, cache: Path) -> dict[str, str]:
    """The names of the devices that a workspace describes."""
    with Workspace.open(path, cache=cache) as workspace:
        return {item.id: item.labels["en"] for item in all_of(workspace.graph, HardwareProfile)}


def test_answers_rest_on_the_same_as_in_one_workspace(
    base: Path, mine: Path, tmp_path: Path, ingest: Ingest
) -> None:
    untouched = bytes_of(base)
    plain = shutil.copytree(base, tmp_path / "plain")
    own = [line(3.0, block=8), line(0.5, size=64), line(4.0, hardware={"name": "NVIDIA H20"})]
    ingest(mine, *own)
    ingest(plain, *own)
    assert bytes_of(base) == untouched
    assert answers(mine, tmp_path)[1:] == answers(plain, tmp_path)[1:]
    assert UpkeepDesk.rebase(mine, cache=tmp_path).is_new is False

    for path in (base, plain := shutil.copytree(base, tmp_path / "plain2")):
        ingest(path, line(7.0, block=128), line(8.0, size=256))
    grown = bytes_of(base)
    done = UpkeepDesk.rebase(mine, cache=tmp_path)
    ingest(plain, *own)
    plain.rename(tmp_path / "mine.plain")
    assert (done.is_new, done.added.rows, done.added.problems) == (True, 3, 2)
    here, there = answers(mine, tmp_path), answers(tmp_path / "mine.plain", tmp_path)
    assert here[1:] == there[1:]
    of_files = ("#file>", "#completed>")  # the two were not read from one file
    assert {item for item in here[0] ^ there[0] if not any(name in item for name in of_files)} == set()
    assert bytes_of(base) == grown
    with Workspace.open(mine, cache=tmp_path) as workspace:
        assert [item for item in workspace.upkeep.check() if item.severity == "fault"] == []
    assert [item for item in UpkeepDesk.examine(mine, deep=True) if item.severity == "fault"] == []


@pytest.mark.long
def test_own_knowledge_stays_and_wins_and_the_rest_is_renewed(
    base: Path, tmp_path: Path, name_vendor: Describe
) -> None:
    for name in ("theirs", "both", "same"):
        name_vendor(base, name, "as it was")
    mine = tmp_path / "mine"
    UpkeepDesk.create_on(mine, str(base), cache=tmp_path)
    name_vendor(mine, "own", "mine alone")
    name_vendor(mine, "both", "my words")
    name_vendor(base, "theirs", "renewed")
    name_vendor(base, "both", "their words")
    name_vendor(base, "fresh", "new there")
    done = UpkeepDesk.rebase(mine, cache=tmp_path)
    assert labels(mine, tmp_path) == {
        "own": "mine alone",
        "both": "my words",
        "theirs": "renewed",
        "fresh": "new there",
        "same": "as it was",
    }
    assert set(done.nodes) == {"hardware/own", "hardware/both"}
    assert set(done.changed) == {"hardware/theirs", "hardware/both", "hardware/fresh"}
    [conflict] = done.conflicts
    assert conflict.about == "hardware/both"
    assert "my words" in conflict.ours
    assert "their words" in conflict.theirs
    assert UpkeepDesk.rebase(mine, cache=tmp_path, again=True).conflicts == ()


@pytest.mark.long
def test_what_the_base_withdrew_is_gone(made_once: Path, tmp_path: Path, name_vendor: Describe) -> None:
    before = shutil.copytree(made_once, tmp_path / "base")
    name_vendor(before, "withdrawn", "as it was")
    mine = tmp_path / "mine"
    UpkeepDesk.create_on(mine, str(before), cache=tmp_path)
    shutil.rmtree(before)
    shutil.copytree(made_once, before)
    done = UpkeepDesk.rebase(mine, cache=tmp_path)
    assert labels(mine, tmp_path) == {}
    assert done.changed == ("hardware/withdrawn",)


@pytest.mark.long
def test_rows_that_the_base_has_by_now_are_its_own(
    base: Path, mine: Path, tmp_path: Path, ingest: Ingest
) -> None:
    ingest(mine, line(3.0, block=8), line(5.0, block=16))
    ingest(base, line(3.0, block=8), line(6.0, block=16))
    done = UpkeepDesk.rebase(mine, cache=tmp_path)
    assert (done.added.rows, done.added.repeated) == (1, 1)
    [conflict] = done.conflicts
    assert (conflict.ours, conflict.theirs) == ("0.006", "0.005")


@pytest.mark.long
def test_trust_files_and_origins_stay(base: Path, mine: Path, tmp_path: Path, ingest: Ingest) -> None:
    ingest(mine, line(3.0, block=8, source="c/d"), options=Options(trust=Trust.HIGH, origin="the lab"))
    (mine / "experiments").mkdir()
    (mine / "experiments" / "one.log").write_text("kept\n")
    (mine / "notes.txt").write_text("mine\n")
    ingest(base, line(9.0, block=256))
    UpkeepDesk.rebase(mine, cache=tmp_path)
    with Workspace.open(mine, cache=tmp_path) as workspace:
        [source] = {row.source_id for row in _rows(workspace) if row.configuration["block"] == 8}
        assert workspace.trials.trust_of(source) is Trust.HIGH
        [origin] = {r[0] for r in workspace.knowledge.query("SELECT ?o { ?b tg:origin ?o }").rows}
    assert origin == "the lab"
    assert (mine / "experiments" / "one.log").read_text() == "kept\n"
    assert (mine / "notes.txt").read_text() == "mine\n"
    assert sorted(item.name for item in tmp_path.glob("*mine*")) == ["mine", "mine.jsonl"]


def _rows(workspace: Workspace) -> list[Any]:
    summary = workspace.trials.summary(workspace.trials.keys().tolist())
    return [trial for row in summary for trial in workspace.trials.rows(row.id)]


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        ("gone", InputError, "is not there any more"),
        ("no workspace", WorkspaceError, "is not a workspace"),
        ("newer", WorkspaceError, "of format 2, this program reads format 1"),
        ("written to", WorkspaceError, "is being written to"),
    ],
)
def test_what_cannot_be_rested_on_changes_nothing(
    base: Path, mine: Path, tmp_path: Path, ingest: Ingest, fault: str, kind: type[Exception], says: str
) -> None:
    ingest(mine, line(3.0, block=8))
    before = answers(mine, tmp_path)
    if fault == "gone":
        base.rename(tmp_path / "moved")
    elif fault == "no workspace":
        (base / "workspace.json").unlink()
    elif fault == "newer":
        (base / "workspace.json").write_text('{"format": 2}')
    if fault == "written to":
        with Workspace.editor(mine, cache=tmp_path), pytest.raises(kind, match=says):
            UpkeepDesk.rebase(mine, cache=tmp_path)
    else:
        with pytest.raises(kind, match=says):
            UpkeepDesk.rebase(mine, cache=tmp_path)
    assert answers(mine, tmp_path) == before
    if fault == "gone":
        done = UpkeepDesk.rebase(mine, str(tmp_path / "moved"), cache=tmp_path)
        assert (done.base.place, done.added.rows) == (str(tmp_path / "moved"), 1)


@pytest.mark.long
def test_a_base_made_anew_is_said(base: Path, mine: Path, tmp_path: Path, ingest: Ingest) -> None:
    ingest(mine, line(3.0, block=8))
    shutil.rmtree(base)
    Workspace.create(base, cache=tmp_path, text_model=None, with_shipped=False)
    ingest(base, line(1.0, size=512))
    done = UpkeepDesk.rebase(mine, cache=tmp_path)
    assert [note for note in done.notes if "was made anew or set back" in note]
    with Workspace.open(mine, cache=tmp_path) as workspace:
        assert sorted(row.configuration["block"] for row in _rows(workspace)) == [8, 64]


def test_only_an_empty_place_takes_a_new_workspace(base: Path, mine: Path, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="is a workspace already"):
        UpkeepDesk.create_on(mine, str(base), cache=tmp_path)
    with pytest.raises(InputError, match="cannot rest on itself"):
        UpkeepDesk.create_on(base, str(base), cache=tmp_path)
    with pytest.raises(InputError, match="nothing is there"):
        UpkeepDesk.create_on(tmp_path / "new", str(tmp_path / "nowhere"), cache=tmp_path)


@pytest.mark.long
def test_a_kill_leaves_the_old_workspace_or_the_new_one(
    base: Path, mine: Path, tmp_path: Path, ingest: Ingest
) -> None:
    ingest(mine, line(3.0, block=8), line(0.5, size=64))
    old = answers(mine, tmp_path)[1]
    ingest(base, line(7.0, block=128))
    untouched = bytes_of(base)
    took = time.monotonic()
    UpkeepDesk.rebase(shutil.copytree(mine, tmp_path / "trial"), cache=tmp_path)
    took = time.monotonic() - took
    new = answers(tmp_path / "trial", tmp_path)[1]
    ends = set()
    for number in range(20):
        place = shutil.copytree(mine, tmp_path / f"kill{number}")
        child = os.fork()
        if not child:
            try:
                UpkeepDesk.rebase(place, cache=tmp_path)
            finally:
                os._exit(0)
        time.sleep(took * (number + 1) / 21)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        end = answers(place, tmp_path)[1]
        assert end in (old, new)
        ends.add(end == new)
        UpkeepDesk.rebase(place, cache=tmp_path)
        assert answers(place, tmp_path)[1] == new
    assert False in ends
    assert bytes_of(base) == untouched


@pytest.mark.long
def test_a_workspace_of_an_earlier_program_gets_the_knowledge_that_ships_now(
    shipped_path: Path, tmp_path: Path, ingest: Ingest, name_vendor: Describe
) -> None:
    mine = shutil.copytree(shipped_path, tmp_path / "mine")
    shutil.rmtree(mine / "base")
    ingest(mine, line(3.0, block=8))
    name_vendor(mine, "own", "mine alone")
    name_vendor(mine, "huawei", "as it was named then")
    done = UpkeepDesk.rebase(mine, cache=tmp_path)
    assert done.added.rows == 1
    assert done.nodes == ("hardware/own",)
    assert [note for note in done.notes if "did not record what it began with" in note]
    found = labels(mine, tmp_path)
    assert found["own"] == "mine alone"
    assert found["huawei"] != "as it was named then"
    base = Base.read(WorkspaceFiles(mine))
    assert base is not None
    assert (base.place, base.batch) == ("", 1)
    with Workspace.open(mine, cache=tmp_path) as workspace:
        assert from_graph(workspace.graph, HardwareProfile, "own").labels["en"] == "mine alone"
