"""Damage of each part is found, refused by writers, and mended from a sound part or left alone."""

import os
import shutil
import signal
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kg.errors import WorkspaceError
from kg.rows import seals
from kg.rows.trials import TrialStore
from kg.triples.snapshots import newest
from recommender.files import WorkspaceFiles
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
    assert rows(filled) == 5


def test_a_graph_older_than_the_rows_is_refused_and_no_row_is_touched(filled: Path, tmp_path: Path) -> None:
    layout = WorkspaceFiles(filled)
    shutil.copytree(layout.graph, tmp_path / "yesterday")
    ingest(filled, range(6, 12))
    shutil.rmtree(layout.graph)
    shutil.copytree(tmp_path / "yesterday", layout.graph)
    before = layout.trials.read_bytes(), layout.vectors.read_bytes(), layout.manifest.read_bytes()
    with pytest.raises(WorkspaceError, match="acknowledged batch 2, the graph ends with batch 1"):
        ingest(filled, range(20, 21))
    with pytest.raises(WorkspaceError, match="no graph here fits the rows"):
        UpkeepDesk.repair(filled, cache=tmp_path)
    assert "tunegraph workspace restore" in faults(filled)["marks"]
    assert (layout.trials.read_bytes(), layout.vectors.read_bytes(), layout.manifest.read_bytes()) == before


@pytest.mark.parametrize("damage", ["empty", "no CURRENT", "gone", "a new database"])
def test_a_lost_live_graph_is_refused_and_made_again_from_the_published_one(
    filled: Path, damage: str
) -> None:
    live = WorkspaceFiles(filled).live
    if damage == "no CURRENT":
        (live / "CURRENT").unlink()
        for log in live.glob("*.log"):
            log.unlink()
    else:
        shutil.rmtree(live)
    if damage == "empty":
        live.mkdir()
    if damage == "a new database":
        from kg.triples.oxigraph_store import OxigraphStore

        OxigraphStore(live).close()
    with pytest.raises(WorkspaceError, match=r"is missing|the graph ends with batch 0"):
        ingest(filled, range(20, 21))
    assert set(faults(filled).values()) == {"tunegraph doctor --repair"}
    [done] = UpkeepDesk.repair(filled, cache=filled.parent)
    assert done.startswith("the live graph is made again from")
    assert (faults(filled), rows(filled)) == ({}, 5)


def test_rows_ahead_of_a_graph_that_a_loss_of_power_cut_are_set_aside(filled: Path, tmp_path: Path) -> None:
    layout = WorkspaceFiles(filled)
    shutil.copytree(layout.live, tmp_path / "on the disk")
    child = os.fork()
    if not child:  # three rows and a mark, of which the power takes what the graph said
        with Workspace.editor(filled, cache=tmp_path) as editor:
            editor.ingest([write_cases(filled, range(6, 9))], batch_rows=1)
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    shutil.rmtree(layout.live)
    shutil.copytree(tmp_path / "on the disk", layout.live)
    with pytest.raises(WorkspaceError, match="acknowledged batch 5, the graph ends with batch 1"):
        ingest(filled, range(20, 21))
    assert faults(filled)["marks"] == "tunegraph doctor --repair"
    done = UpkeepDesk.repair(filled, cache=tmp_path)
    assert [text.partition(" (")[0] for text in done[1:]] == ["the vectors are made again"]
    assert done[0].startswith("3 rows of batches 2 to 5, which the graph does not acknowledge")
    assert (faults(filled), rows(filled)) == ({}, 5)
    with TrialStore(layout.trials, read_only=True) as store:
        assert [batch for batch, _ in seals.quarantine(store.file)] == [2, 3, 4]
    ingest(filled, range(6, 9))
    assert (faults(filled), rows(filled)) == ({}, 8)


@pytest.mark.parametrize("part", ["live", "published"])
def test_a_flipped_block_is_found_and_mended_from_the_other_graph(
    filled: Path, tmp_path: Path, part: str
) -> None:
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
    UpkeepDesk.repair(filled, cache=filled.parent)
    assert "ingest the files again" in faults(filled)["rows"]


@pytest.mark.parametrize("damage", ["flip", "gone", "cut"])
def test_damaged_vectors_are_found_and_made_again(filled: Path, damage: str) -> None:
    log = WorkspaceFiles(filled).vectors
    content = log.read_bytes()
    changed = {
        "flip": content[:-40] + bytes([content[-40] ^ 1]) + content[-39:],
        "cut": content[: 4096 + 1500],
    }
    if damage in changed:
        log.write_bytes(changed[damage])
    else:
        log.unlink()
    assert set(faults(filled).values()) == {"tunegraph doctor --repair"}
    done = UpkeepDesk.repair(filled, cache=filled.parent)
    assert len(done) == (damage != "gone")  # a log that is not there is begun by who opens it
    assert (faults(filled), rows(filled)) == ({}, 5)


def test_vectors_of_another_workspace_are_found_and_made_again(filled: Path, tmp_path: Path) -> None:
    """Same keys, same batch, right checksums: only the digest in the seal tells."""
    other = tmp_path / "other" / "workspace"
    Workspace.create(other, cache=tmp_path, text_model=None, with_shipped=False)
    ingest(other, range(11, 16))
    shutil.copyfile(WorkspaceFiles(other).vectors, WorkspaceFiles(filled).vectors)
    assert faults(filled) == {"vector records": "tunegraph doctor --repair"}
    assert len(UpkeepDesk.repair(filled, cache=filled.parent)) == 1
    assert (faults(filled), rows(filled)) == ({}, 5)
    ingest(filled, range(30, 33))  # vectors made again have no seal of their own, later ones have
    assert (faults(filled), rows(filled)) == ({}, 8)


def test_older_vectors_are_refused_and_made_again(filled: Path, tmp_path: Path) -> None:
    log = WorkspaceFiles(filled).vectors
    shutil.copyfile(log, tmp_path / "older")
    ingest(filled, range(6, 9))
    shutil.copyfile(tmp_path / "older", log)
    with pytest.raises(WorkspaceError, match="has not the vectors of batch 2"):
        ingest(filled, range(20, 21))
    assert faults(filled) == {"vector records": "tunegraph doctor --repair"}
    assert len(UpkeepDesk.repair(filled, cache=filled.parent)) == 1
    assert (faults(filled), rows(filled)) == ({}, 8)


@pytest.mark.long
def test_a_flip_in_what_was_saved_beside_the_graph_is_found(filled: Path) -> None:
    layout = WorkspaceFiles(filled)
    with Workspace.editor(filled, cache=filled.parent) as editor:
        editor.evolve(datetime(2026, 6, 1, tzinfo=UTC))
    for path in (layout.versions / "v0" / "version.json", layout.learned(2).components, layout.manifest):
        content = path.read_bytes()
        for place in range(0, len(content), 29):
            path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            try:
                is_seen = faults(filled) != {}
            except WorkspaceError:
                is_seen = True
            assert is_seen or path == layout.manifest  # of which the name of the digest is not digested
        path.write_bytes(content)
    assert (faults(filled), rows(filled)) == ({}, 5)


def test_rows_of_an_unfinished_batch_are_quarantined_and_told(
    filled: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with sqlite3.connect(WorkspaceFiles(filled).trials) as trials:
        columns = [row[1] for row in trials.execute("PRAGMA table_info(trials)")]
        chosen = ", ".join({"batch": "2", "outcome": "outcome + 1"}.get(name, name) for name in columns)
        trials.execute(f"INSERT INTO trials SELECT {chosen} FROM trials WHERE problem = 1")  # noqa: S608
    with Workspace.editor(filled, cache=filled.parent):
        pass
    assert "swept 1 rows of batch 2, which was not finished" in caplog.text
    with TrialStore(WorkspaceFiles(filled).trials, read_only=True) as store:
        assert [batch for batch, _ in seals.quarantine(store.file)] == [2]
    assert (faults(filled), rows(filled)) == ({}, 5)
