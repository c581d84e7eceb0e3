"""Tests of files that are written whole."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from kg import atomic_files
from kg.atomic_files import read_start, read_text, sync_folder, write_bytes, write_json, write_text
from kg.errors import InputError


def test_a_file_is_replaced(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "old")
    write_json(tmp_path / "a", {"b": "é", "a": 1})
    assert (tmp_path / "a").read_text(encoding="utf-8") == '{\n  "a": 1,\n  "b": "é"\n}\n'
    assert [item.name for item in tmp_path.iterdir()] == ["a"]


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_text(tmp_path / "a", "old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_bytes(tmp_path / "a", b"new")
    assert {item.name: item.read_text() for item in tmp_path.iterdir()} == {"a": "old"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks a descriptor up in /proc")
def test_the_content_is_on_the_disk_before_the_name_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rename that reaches the disk before the content leaves an empty file after a loss of power."""
    target, synced = tmp_path / "a", []
    plain = os.fsync

    def noted(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").resolve()
        synced.append((path.name, path.read_bytes(), target.exists()))
        plain(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    write_bytes(target, b"new")
    [(name, content, was_there)] = synced
    assert (name.startswith(".a."), content, was_there) == (True, b"new", False)


def test_a_folder_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    probe = os.open(tmp_path, os.O_RDONLY)
    os.close(probe)
    sync_folder(tmp_path)
    assert synced == [tmp_path.stat().st_ino]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(probe)  # the lowest free one, which was taken and given back


def test_a_fault_names_the_file_that_was_given(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file") as refused:
        write_bytes(tmp_path / "none" / "a.txt", b"x")
    assert refused.value.filename == str(tmp_path / "none" / "a.txt")


def test_no_more_of_a_file_is_read_than_it_may_have(tmp_path: Path) -> None:
    """A device has no end, and its size is told as zero."""
    file = tmp_path / "file"
    file.write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert read_text(file, 7) == "a\nb"
    for path, most in ((Path("/dev/zero"), 1 << 20), (file, 6)):
        with pytest.raises(InputError, match=f"larger than {most >> 20} MiB"):
            read_text(path, most)
    assert len(read_start(Path("/dev/zero"), 9)) == 10
    file.write_bytes(b"\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        read_text(file, 9)
    with pytest.raises(InputError, match="No such file"):
        read_text(tmp_path / "none", 9)


def test_a_pipe_is_read_when_somebody_writes_to_it_and_else_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setattr(atomic_files, "_PATIENCE_S", 0.1)
    with pytest.raises(InputError, match="a pipe to which nobody writes"):
        read_text(pipe, 9)
    monkeypatch.setattr(atomic_files, "_PATIENCE_S", 60.0)
    with ThreadPoolExecutor() as pool:
        for content, most, held in ((b"a\nb", 9, 3), (b"x" * 200_000, 99, 100)):
            written = pool.submit(_written, pipe, content)
            assert len(read_start(pipe, most)) == held
            written.result(timeout=60)


def _written(pipe: Path, content: bytes) -> None:
    with suppress(BrokenPipeError):  # the reader has as much as it may have
        pipe.write_bytes(content)
