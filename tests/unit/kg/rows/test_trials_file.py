"""The file of the trial store: one writer, whole batches, and nothing of others touched."""

import os
import sqlite3
from pathlib import Path

import pytest

from kg.errors import WorkspaceError
from kg.rows.trials import TrialStore
from tests.unit.kg.rows.samples import problem, trial


def test_a_reader_beside_the_writer_sees_what_is_committed(path: Path, store: TrialStore) -> None:
    store.add(1, problem(), [trial(1, 1.0)])
    with TrialStore(path, read_only=True) as reader:
        with store.transaction():
            store.add(2, problem(), [trial(2, 2.0)])
            assert reader.counts().trials == 1
        assert reader.counts().trials == 2
        with pytest.raises(WorkspaceError, match="readonly"):
            reader.add(3, problem(), [trial(3, 3.0)])


def test_a_second_writer_is_told(path: Path, store: TrialStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kg.rows.trials_file.PATIENCE_S", 0.05)
    with (
        store.transaction(),
        TrialStore(path) as other,
        pytest.raises(WorkspaceError, match="locked") as caught,
    ):
        other.add(1, problem(), [trial(1, 1.0)])
    assert "another process" in caught.value.hint


def test_closing_leaves_one_file(path: Path) -> None:
    with TrialStore(path) as store:
        store.add(1, problem(), [trial(1, 1.0)])
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    with TrialStore(path, read_only=True) as reader:
        assert reader.counts().trials == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty or another program"),
        (b"not a database at all" * 100, "damaged"),
        (b"SQLite format 3\0" + b"\xff" * 5000, "damaged"),
    ],
)
def test_what_is_no_trial_store_is_told(path: Path, content: bytes, said: str) -> None:
    path.write_bytes(content)
    with pytest.raises(WorkspaceError, match=said):
        TrialStore(path, read_only=True)


@pytest.mark.parametrize("read_only", [True, False])
def test_another_programs_database_is_left_alone(path: Path, read_only: bool) -> None:
    with sqlite3.connect(path) as foreign:
        foreign.execute("CREATE TABLE mine (a)")
    foreign.close()
    before = path.read_bytes()
    with pytest.raises(WorkspaceError, match="another program"):
        TrialStore(path, read_only=read_only)
    assert path.read_bytes() == before


def test_another_version_is_told(path: Path) -> None:
    TrialStore(path).close()
    with sqlite3.connect(path) as changed:
        changed.execute("PRAGMA user_version = 99")
    changed.close()
    with pytest.raises(WorkspaceError, match="format 99, this program reads format 3"):
        TrialStore(path)


def test_damage_inside_is_told_when_it_is_met(path: Path) -> None:
    with TrialStore(path) as store:
        store.add(1, problem(), [trial(block, block + 1.0) for block in range(5000)])
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(WorkspaceError, match="damaged"):  # noqa: SIM117 - opening or reading, whichever meets it
        with TrialStore(path, read_only=True) as reader:
            reader.rows(problem().id)


@pytest.mark.parametrize("read_only", [True, False])
def test_a_missing_folder_is_told(tmp_path: Path, read_only: bool) -> None:
    with pytest.raises(WorkspaceError, match=r"missing|unable to open"):
        TrialStore(tmp_path / "none" / "trials.sqlite3", read_only=read_only)


@pytest.mark.skipif(os.getuid() != 0, reason="needs to become an ordinary user")
@pytest.mark.parametrize("closed", [True, False])
def test_an_ordinary_user_reads_in_a_folder_of_another(tmp_path: Path, closed: bool) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    store = TrialStore(folder / "trials.sqlite3")
    store.add(1, problem(), [trial(1, 1.0)])
    if closed:
        store.close()
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == 0 and not parent.stat().st_mode & 0o001:
            parent.chmod(0o755)
    child = os.fork()
    if child == 0:
        os.setgid(65534)
        os.setuid(65534)
        try:
            found = TrialStore(folder / "trials.sqlite3", read_only=True).counts().trials
        except WorkspaceError:
            found = 99
        os._exit(found)
    _, status = os.waitpid(child, 0)
    store.close()
    assert os.waitstatus_to_exitcode(status) == 1


def test_no_name_is_read_as_sql(store: TrialStore) -> None:
    hostile = "x'); DROP TABLE trials; --"
    asked = problem(hostile)
    store.add(1, asked, [trial(hostile, 1.0, source_id=hostile, strategy=hostile)])
    [row] = store.rows(asked.id)
    assert (row.strategy, row.source_id, row.configuration["block"]) == (hostile,) * 3
    assert store.problem_key(hostile) is None


def test_a_step_whose_end_fails_is_undone_and_the_next_is_whole(store: TrialStore) -> None:
    store.file.write("PRAGMA foreign_keys = ON")
    with pytest.raises(WorkspaceError, match="FOREIGN KEY"), store.transaction():  # noqa: PT012
        store.file.write("PRAGMA defer_foreign_keys = ON")  # looked at when the step ends
        store.add(1, problem(), [trial(1, 0.5)], problem_key=99)
    assert not store.file.in_transaction
    store.add(1, problem(), [trial(1, 0.5)])
    assert store.counts().trials == 1


def test_a_step_waits_for_the_disk(store: TrialStore) -> None:
    assert store.file.read("PRAGMA synchronous") == [(2,)]
