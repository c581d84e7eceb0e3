"""The journal of a search: one writer at a time, whole lines, on the disk."""

import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from kg.errors import WorkspaceError
from recommender.search.log.storage_journal import StorageJournal

EACH, WRITERS = 40, 3


def operation(name: str) -> dict[str, Any]:
    return {"op_code": 0, "worker_id": "w", "study_name": name * 400, "directions": [1]}


def append(path: Path, name: str) -> None:
    journal = StorageJournal(path)
    for _ in range(EACH):
        journal.append_logs([operation(name), operation(name)])


def append_when(begin: Any, path: Path, name: str) -> None:
    begin.wait(20)
    append(path, name)


def test_programs_that_write_at_once_tear_no_line_and_no_batch_of_another(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    StorageJournal(path, create=True)
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=append, args=(path, name)) for name in "abc"[:WRITERS]]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(20)
    names = [item["study_name"][0] for item in StorageJournal(path).read_logs(0)]
    assert len(names) == 2 * EACH * WRITERS
    assert names[::2] == names[1::2]  # both lines of a batch stand together


def test_nobody_appends_while_another_has_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    journal = StorageJournal(path, create=True)
    context = multiprocessing.get_context("fork")
    begin = context.Event()
    writer = context.Process(target=append_when, args=(begin, path, "b"))
    writer.start()  # before the lock, which a fork would share
    with journal.exclusive():
        begin.set()
        writer.join(0.5)
        assert writer.is_alive()
        assert path.read_bytes() == b""
        journal.append_logs([operation("a")])
    writer.join(20)
    assert [item["study_name"][0] for item in journal.read_logs(0)] == ["a", *"b" * (2 * EACH)]


def test_an_append_is_on_the_disk_when_it_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, synced = tmp_path / "a.journal", []
    journal, plain = StorageJournal(path, create=True), os.fsync

    def noted(descriptor: int) -> None:
        synced.append(path.read_bytes())
        plain(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    journal.append_logs([operation("a")])
    assert [json.loads(content) for content in synced] == [operation("a")]


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.journal"
    journal = StorageJournal(path, create=True, patience_s=0.0)
    journal.append_logs([operation("a")])
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WorkspaceError, match="No space left"):
        journal.append_logs([operation("b")])
    assert path.read_bytes() == before


def test_what_a_crash_left_half_written_is_cut_by_the_next_writer(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    journal = StorageJournal(path, create=True)
    journal.append_logs([operation("a")])
    whole = path.read_bytes()
    path.write_bytes(whole + b"x" * 5000)
    assert len(list(StorageJournal(path).read_logs(0))) == 1
    StorageJournal(path).append_logs([operation("b")])
    assert [item["study_name"][0] for item in StorageJournal(path).read_logs(0)] == ["a", "b"]
