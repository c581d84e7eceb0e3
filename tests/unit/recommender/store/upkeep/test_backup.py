"""A backup is what readers saw, whole; a damaged or cut one is refused; a restore is all or nothing."""

import io
import os
import shutil
import signal
import sqlite3
import tarfile
import threading
import time
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from kg.errors import InputError, WorkspaceError
from kg.lock import WriterLock
from recommender.cost_model.anchors import Anchors, shipped_anchors
from recommender.experiment.journal import MARK
from recommender.files import WorkspaceFiles
from recommender.store.upkeep import backup, exchange
from recommender.store.upkeep.backup import unpack_backup
from recommender.workspace.upkeep import UpkeepDesk
from recommender.workspace.workspace import Workspace
from tests.quiet_machine import cpu_seconds
from tests.samples.toy_cases import write_cases


def ingest(path: Path, sizes: range, batch_rows: int = 4000) -> None:
    with Workspace.editor(path, cache=path.parent) as editor:
        editor.ingest([write_cases(path, sizes)], batch_rows=batch_rows)


def rows(path: Path) -> int:
    """Count the rows of a workspace that must have no fault."""
    found = [item for item in UpkeepDesk.examine(path, deep=True) if item.severity == "fault"]
    with Workspace.open(path, cache=path.parent) as workspace:
        assert found + [item for item in workspace.upkeep.check() if item.severity == "fault"] == []
        return workspace.trials.counts().trials


def back_up(path: Path, file: Path) -> None:
    with Workspace.open(path, cache=path.parent) as workspace:
        workspace.upkeep.backup(file)


@pytest.fixture
def filled(empty_path: Path) -> Path:
    ingest(empty_path, range(1, 6))
    return empty_path


def test_a_backup_has_the_questions_and_takes_marks_before_the_logs_that_they_end(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that grows while it is copied then still has what its mark says."""
    asked = WorkspaceFiles(filled).questions
    with sqlite3.connect(asked) as file:
        file.execute("CREATE TABLE kept (one)")
    folder = filled / "experiments"
    folder.mkdir()
    for name in ("a.log", f"a{MARK}", f"z{MARK}"):
        (folder / name).write_text("kept")
    copied: list[str] = []
    copy = shutil.copyfile

    def noted(source: Path, target: Path) -> Path:
        copied.append(Path(source).suffix)
        return copy(source, target)

    monkeypatch.setattr(shutil, "copyfile", noted)
    back_up(filled, tmp_path / "file")
    assert copied == sorted(copied, key=lambda suffix: suffix != MARK)
    assert copied.count(MARK) == 2
    UpkeepDesk.restore(tmp_path / "new", tmp_path / "file")
    with sqlite3.connect(WorkspaceFiles(tmp_path / "new").questions) as file:
        assert file.execute("SELECT name FROM sqlite_master WHERE name = 'kept'").fetchone() == ("kept",)


def test_a_restored_workspace_is_the_one_of_the_backup(filled: Path, tmp_path: Path) -> None:
    (filled / "experiments").mkdir()
    (filled / "experiments" / "one.log").write_text("kept\n")
    (filled / "green").mkdir()
    np.savez(filled / "green" / "cn.npz", kept=np.zeros(1))
    (filled / "tunes" / "one" / "runs").mkdir(parents=True)
    (filled / "tunes" / "one" / "journal.jsonl").write_text("kept\n")
    shipped_anchors().write(WorkspaceFiles(filled).anchors)
    with Workspace.open(filled, cache=tmp_path) as workspace:
        made = workspace.upkeep.backup(tmp_path / "file")
        before = sorted(map(str, workspace.graph.triples()))
    assert (made.rows, made.batch, made.size_bytes) == (5, 1, (tmp_path / "file").stat().st_size)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600
    restored = UpkeepDesk.restore(tmp_path / "other" / "new", tmp_path / "file")
    assert (restored.rows, restored.replaced) == (5, None)
    new = tmp_path / "other" / "new"
    assert new.stat().st_mode & 0o777 == 0o700
    assert rows(new) == 5
    with Workspace.open(new, cache=tmp_path) as workspace:
        assert sorted(map(str, workspace.graph.triples())) == before
    assert (new / "experiments" / "one.log").read_text() == "kept\n"
    assert [*np.load(new / "green" / "cn.npz")] == ["kept"]
    assert (new / "tunes" / "one" / "journal.jsonl").read_text() == "kept\n"
    assert Anchors.read(WorkspaceFiles(new).anchors).steps
    ingest(new, range(6, 9))
    assert rows(new) == 8
    WorkspaceFiles(new).anchors.write_text("{")
    faults = [item.says for item in UpkeepDesk.examine(new, deep=True) if item.severity == "fault"]
    assert "calibrate --own" in "".join(faults)


@pytest.mark.parametrize("can_exchange", [True, False])
def test_what_was_there_is_renamed_and_readers_go_on(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, can_exchange: bool
) -> None:
    if not can_exchange:
        monkeypatch.setattr(exchange, "_exchange", lambda *_: False)
    back_up(filled, tmp_path / "file")
    ingest(filled, range(6, 12))
    with Workspace.open(filled, cache=tmp_path) as reader:
        done = UpkeepDesk.restore(filled, tmp_path / "file")
        assert reader.trials.counts().trials == 11
        assert len(list(reader.graph.triples())) > 0
        reader.refresh()
        assert reader.trials.counts().trials == 5
    assert done.replaced == tmp_path / "workspace.before-restore-1"
    assert (rows(filled), rows(done.replaced)) == (5, 11)
    assert sorted(item.name for item in tmp_path.iterdir() if item.name.startswith(".")) == []


@pytest.mark.long
def test_a_backup_beside_a_writer_is_of_one_acknowledged_state(filled: Path, tmp_path: Path) -> None:
    child = os.fork()
    if not child:
        ingest(filled, range(100, 1100), batch_rows=5)
        os._exit(0)
    try:
        for number in range(4):
            back_up(filled, tmp_path / f"{number}")
            time.sleep(0.3)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    for number in range(4):
        assert UpkeepDesk.restore(tmp_path / f"r{number}", tmp_path / f"{number}").rows == rows(
            tmp_path / f"r{number}"
        )


def test_every_cut_and_every_flip_of_a_backup_is_refused(filled: Path, tmp_path: Path) -> None:
    back_up(filled, tmp_path / "file")
    content = (tmp_path / "file").read_bytes()
    before = sorted(item.name for item in filled.iterdir())
    places = [*range(0, len(content), len(content) // 40), len(content) - 1]
    for place in places:
        flipped = bytearray(content)
        flipped[place] ^= 4
        for damaged in (bytes(flipped), content[:place]):
            (tmp_path / "damaged").write_bytes(damaged)
            with pytest.raises(InputError, match="is no backup, or it is cut or damaged"):
                UpkeepDesk.restore(filled, tmp_path / "damaged")
    assert sorted(item.name for item in filled.iterdir()) == before
    assert rows(filled) == 5


def test_a_backup_that_is_cut_leaves_nothing_under_its_name(filled: Path, tmp_path: Path) -> None:
    for delay in (0.0, 0.02, 0.05, 0.1):
        child = os.fork()
        if not child:
            back_up(filled, tmp_path / "file")
            os._exit(0)
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if (tmp_path / "file").exists():
            assert UpkeepDesk.restore(tmp_path / f"r{delay}", tmp_path / "file").rows == 5
            (tmp_path / "file").unlink()


@pytest.mark.long
def test_a_restore_that_is_cut_leaves_the_old_or_the_new(filled: Path, tmp_path: Path) -> None:
    back_up(filled, tmp_path / "file")
    ingest(filled, range(6, 12))
    for delay in (0.0, 0.03, 0.06, 0.1, 0.15, 0.2):
        child = os.fork()
        if not child:
            UpkeepDesk.restore(filled, tmp_path / "file")
            os._exit(0)
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert rows(filled) in {5, 11}


def test_what_cannot_be_backed_up_or_restored_is_refused_in_words(filled: Path, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    with pytest.raises(InputError, match="is there already"):
        back_up(filled, tmp_path / "there")
    with pytest.raises(InputError, match="cannot be written"):
        back_up(filled, tmp_path / "no" / "folder")
    with pytest.raises(InputError, match="cannot be read"):
        UpkeepDesk.restore(filled, tmp_path / "nothing")
    back_up(filled, tmp_path / "file")
    with (
        WriterLock(WorkspaceFiles(filled).lock, command="tunegraph ingest"),
        pytest.raises(WorkspaceError, match="tunegraph ingest"),
    ):
        UpkeepDesk.restore(filled, tmp_path / "file")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").touch()
    with pytest.raises(WorkspaceError, match="neither empty nor a workspace"):
        UpkeepDesk.restore(tmp_path / "photos", tmp_path / "file")
    assert (tmp_path / "there").read_text() == "mine"


def test_a_file_that_is_no_backup_is_refused_at_any_size(tmp_path: Path) -> None:
    (tmp_path / "hole").touch()
    os.truncate(tmp_path / "hole", 1 << 40)
    started = time.process_time()
    with pytest.raises(InputError, match="is no backup"):
        unpack_backup(tmp_path / "hole", tmp_path / "unpacked")
    assert time.process_time() - started < cpu_seconds(5)


@pytest.mark.parametrize(
    "change", ["vectors SET problem = 1", "trials SET value = 1", "batches SET digest = 'x'"]
)
def test_a_damaged_workspace_is_not_backed_up(filled: Path, tmp_path: Path, change: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(filled, copy)
    with sqlite3.connect(WorkspaceFiles(copy).trials) as trials:
        trials.execute(f"UPDATE {change}")
    with pytest.raises(WorkspaceError, match="is damaged"):
        back_up(copy, tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_a_damaged_workspace_is_not_restored(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The digest of the file is right, and yet what it holds is not what was written."""
    with sqlite3.connect(WorkspaceFiles(filled).trials) as trials:
        trials.execute("UPDATE trials SET value = 1")
    with monkeypatch.context() as blind:
        blind.setattr(backup, "truth_faults", lambda _: [])
        back_up(filled, tmp_path / "file")
    with pytest.raises(InputError, match="batch 1 is not what was written"):
        UpkeepDesk.restore(tmp_path / "new", tmp_path / "file")
    assert not (tmp_path / "new").exists()


def test_a_writer_waits_only_for_a_restore(filled: Path, tmp_path: Path) -> None:
    back_up(filled, tmp_path / "file")
    failed: list[Exception] = []

    def write() -> None:
        try:
            ingest(filled, range(20, 25))
        except WorkspaceError as error:
            failed.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    back_up(filled, tmp_path / "second")
    writer.join()
    assert failed == []
    assert rows(filled) == 10


def test_a_backup_has_its_name_once_it_is_on_the_disk(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: dict[int, int] = {}
    plain = os.fsync

    def fsync(descriptor: int) -> None:
        assert not (tmp_path / "file").exists()
        seen = os.fstat(descriptor)
        synced[seen.st_ino] = seen.st_size
        plain(descriptor)

    with monkeypatch.context() as watched:
        watched.setattr(os, "fsync", fsync)
        back_up(filled, tmp_path / "file")
    made = (tmp_path / "file").stat()
    assert synced[made.st_ino] == made.st_size  # its last words, too
    restored = tmp_path / "restored"
    with monkeypatch.context() as watched:
        watched.setattr(os, "fsync", lambda descriptor: synced.setdefault(os.fstat(descriptor).st_ino, 0))
        UpkeepDesk.restore(restored, tmp_path / "file")
    assert (restored / "trials.sqlite3").stat().st_ino in synced


def test_a_sparse_member_is_no_part_of_a_backup(filled: Path, tmp_path: Path) -> None:
    """Its holes would be written for real: 10 kB become 667 MiB."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        holes = tarfile.TarInfo("trials.sqlite3")
        sparse = {"major": "0", "minor": "1", "name": "trials.sqlite3", "size": str(667 << 20), "map": "0,0"}
        holes.pax_headers = {f"GNU.sparse.{name}": value for name, value in sparse.items()}
        archive.addfile(holes)
    bomb = tmp_path / "bomb"
    digest = sha256(content.getvalue()).hexdigest()
    bomb.write_bytes(content.getvalue() + f"\nsha256 {digest}\n".encode())
    for take in (lambda: UpkeepDesk.restore(filled, bomb), lambda: unpack_backup(bomb, tmp_path / "into")):
        with pytest.raises(InputError, match=r"is no backup: 'trials\.sqlite3' in the archive"):
            take()
    assert rows(filled) == 5
    assert sum(path.stat().st_size for path in (tmp_path / "into").rglob("*")) < 1 << 20
