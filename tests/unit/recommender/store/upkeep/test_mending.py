"""Damage of each part is found, and made again from the batches, or left alone and said."""

import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kg.errors import WorkspaceError
from kg.triples.snapshots import newest
from recommender.files import WorkspaceFiles
from recommender.store.base import Base
from recommender.store.upkeep.checkup import saved_faults
from recommender.workspace.upkeep import UpkeepDesk
from recommender.workspace.workspace import Workspace
from tests.samples.toy_cases import write_cases


def ingest(path: Path, sizes: range) -> None:
    file = write_cases(path, sizes)
    with Workspace.editor(path, cache=path.parent) as editor:
        editor.ingest([file])


@pytest.fixture
def filled(empty_path: Path) -> Path:
    ingest(empty_path, range(1, 6))
    return empty_path


def faults(path: Path) -> dict[str, str]:
    return {
        item.about: item.remedy for item in UpkeepDesk.examine(path, deep=True) if item.severity == "fault"
    }


def rows(path: Path) -> int:
    with Workspace.open(path, cache=path.parent) as workspace:
        assert [item for item in workspace.upkeep.check() if item.severity == "fault"] == []
        return workspace.trials.counts().trials


def test_a_sound_workspace_has_no_fault_and_nothing_to_mend(filled: Path) -> None:
    assert faults(filled) == {}
    assert UpkeepDesk.repair(filled, cache=filled.parent) == []
    assert not [*filled.rglob("*damaged*")]
    assert rows(filled) == 5


@pytest.mark.parametrize("part", ["live", "published and live"])
def test_an_older_graph_is_caught_up(filled: Path, tmp_path: Path, part: str) -> None:
    layout = WorkspaceFiles(filled)
    folder = layout.live if part == "live" else layout.graph
    shutil.copytree(folder, tmp_path / "yesterday")
    ingest(filled, range(6, 12))
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "yesterday", folder)
    assert faults(filled) == {}  # readers see what there was, whole
    ingest(filled, range(20, 21))
    assert (faults(filled), rows(filled)) == ({}, 12)


def test_older_rows_are_refused_until_the_graph_is_made_from_them(filled: Path, tmp_path: Path) -> None:
    layout = WorkspaceFiles(filled)
    shutil.copyfile(layout.trials, tmp_path / "yesterday")
    ingest(filled, range(6, 12))
    shutil.copyfile(tmp_path / "yesterday", layout.trials)
    with pytest.raises(WorkspaceError, match="the graph ends with batch 2, the rows with batch 1"):
        ingest(filled, range(20, 21))
    found = {"live graph": "tunegraph doctor --repair", "published graph": "tunegraph doctor --repair"}
    assert faults(filled) == found
    [done] = UpkeepDesk.repair(filled, cache=tmp_path)
    assert done.startswith("the graph is made again from the batches (the graph ends with batch 2")
    assert (faults(filled), rows(filled)) == ({}, 5)


def test_a_graph_of_another_workspace_is_refused(filled: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "workspace"
    Workspace.create(other, cache=tmp_path, text_model=None, with_shipped=False)
    ingest(other, range(11, 16))
    shutil.rmtree(WorkspaceFiles(filled).live)
    shutil.copytree(WorkspaceFiles(other).live, WorkspaceFiles(filled).live)
    with pytest.raises(WorkspaceError, match="batch 1 has another seal"):
        ingest(filled, range(20, 21))
    assert set(faults(filled)) == {"live graph"}
    assert len(UpkeepDesk.repair(filled, cache=tmp_path)) == 1
    assert (faults(filled), rows(filled)) == ({}, 5)


@pytest.mark.parametrize("damage", ["no CURRENT", "a new database"])
def test_a_lost_live_graph_is_made_again_by_the_next_writer_or_by_repair(filled: Path, damage: str) -> None:
    live = WorkspaceFiles(filled).live
    if damage == "no CURRENT":
        (live / "CURRENT").unlink()
        for log in live.glob("*.log"):
            log.unlink()
    else:
        shutil.rmtree(live)
    if damage == "a new database":
        from kg.triples.graph import GraphStore

        GraphStore(live).close()
    copy = filled.parent / "copy"
    shutil.copytree(filled, copy)
    ingest(copy, range(20, 21))
    assert (faults(copy), rows(copy)) == ({}, 6)
    UpkeepDesk.repair(filled, cache=filled.parent)
    assert (faults(filled), rows(filled)) == ({}, 5)


@pytest.mark.parametrize("part", ["live", "published"])
def test_a_flipped_block_of_a_graph_is_found_and_mended(filled: Path, tmp_path: Path, part: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(filled, copy)  # no hard links: live and published have blocks of their own
    layout = WorkspaceFiles(copy)
    folder = layout.live if part == "live" else newest(layout.graph)
    assert folder is not None
    largest = max(folder.glob("*.sst"), key=lambda item: item.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[len(content) // 3] ^= 0x10
    largest.write_bytes(content)
    assert f"{part} graph" in faults(copy)
    assert len(UpkeepDesk.repair(copy, cache=tmp_path)) == 1
    assert (faults(copy), rows(copy)) == ({}, 5)


def test_a_changed_row_is_found_and_left_alone(filled: Path) -> None:
    with sqlite3.connect(WorkspaceFiles(filled).trials) as trials:
        trials.execute("UPDATE trials SET value = value * 2 WHERE problem = 3")
    with pytest.raises(WorkspaceError, match="cannot be repaired: batch 1 is not what was written"):
        UpkeepDesk.repair(filled, cache=filled.parent)
    assert "ingest the files again" in faults(filled)["rows"]


@pytest.mark.parametrize("damage", ["vector = zeroblob(4 * 64)", "problem = 3"])
def test_damaged_vectors_are_found_and_made_again(filled: Path, damage: str) -> None:
    with sqlite3.connect(WorkspaceFiles(filled).trials) as trials:
        trials.execute(f"UPDATE vectors SET {damage} WHERE problem = 4")  # noqa: S608 - constants
    assert faults(filled) == {"vectors": "tunegraph doctor --repair"}
    assert UpkeepDesk.repair(filled, cache=filled.parent) == [
        "the vectors are made again (1 vectors are not what was written)"
    ]
    assert (faults(filled), rows(filled)) == ({}, 5)


@pytest.mark.long
def test_a_flip_in_what_was_saved_beside_the_graph_is_found(filled: Path) -> None:
    layout = WorkspaceFiles(filled)
    with Workspace.editor(filled, cache=filled.parent) as editor:
        editor.evolve(datetime(2026, 6, 1, tzinfo=UTC))
    Base.keep(layout, "now")
    digested = (layout.manifest, layout.base / "base.json")
    for path in (layout.versions / "v0" / "version.json", layout.learned(2).components, *digested):
        content = path.read_bytes()
        for place in range(0, len(content), 29):
            path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            try:
                is_seen = faults(filled) != {}
            except WorkspaceError:
                is_seen = True
            assert is_seen or path in digested  # of which the name of the digest is not digested
        path.write_bytes(content)
    assert (faults(filled), rows(filled)) == ({}, 5)


def test_a_test_whose_log_is_gone_is_told(filled: Path) -> None:
    layout = WorkspaceFiles(filled)
    layout.experiments.mkdir(exist_ok=True)
    mark = layout.experiments / "slow.mark"
    mark.write_text("812\n")
    assert [str(mark) in fault for fault in saved_faults(layout)] == [True]
    mark.unlink()
    assert saved_faults(layout) == []
