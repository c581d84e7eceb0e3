"""One writer at a time, named; a dead one's lock is gone."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kg.errors import WorkspaceError
from kg.lock import WriterLock, is_held, network_file_system

HOLD = """
import sys, time
from pathlib import Path
from kg.lock import WriterLock
lock = WriterLock(Path(sys.argv[1]), command="tunegraph ingest cases")
print("held", flush=True)
time.sleep(60)
"""


def test_the_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    now = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
    with (
        WriterLock(path, command="tunegraph ingest cases", now=now),
        pytest.raises(WorkspaceError, match="tunegraph ingest cases") as caught,
    ):
        WriterLock(path)
    said = str(caught.value)
    assert f"process {os.getpid()} on " in said
    assert "2026-05-04T03:02:01" in said
    assert "reading goes on" in caught.value.hint


def test_the_next_holder_learns_whether_the_last_one_came_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    left = []
    for finishes in (False, True, True):
        with WriterLock(path) as lock:
            left.append(lock.was_left)
            if finishes:
                lock.finish()
    assert left == [False, True, False]


@pytest.mark.parametrize("stale", [b"", b"{", b'{"pid": 1}', b"\xff\xfe", b"[]" * 90])
def test_what_an_earlier_writer_left_in_the_file_does_no_harm(tmp_path: Path, stale: bytes) -> None:
    path = tmp_path / "lock"
    path.write_bytes(stale)
    with WriterLock(path, command="new"):
        written = path.read_bytes()
        assert stale == b"" or not written.endswith(stale)
        with pytest.raises(WorkspaceError, match="`new`"):
            WriterLock(path)


def test_a_holder_that_has_not_written_yet_is_another_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with WriterLock(path):
        path.write_bytes(b"{")
        with pytest.raises(WorkspaceError, match="another process"):
            WriterLock(path)


def test_a_killed_writer_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(WorkspaceError, match=f"process {holder.pid} "):
        WriterLock(path)
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    WriterLock(path).release()


@pytest.mark.parametrize("kind", ["nfs4", "lustre", "fuse.sshfs", "ext4"])
def test_a_network_file_system_is_known_by_the_nearest_mount(tmp_path: Path, kind: str) -> None:
    place, mounts = tmp_path / "my home" / "deep", tmp_path / "mounts"
    place.mkdir(parents=True)
    point = str(place.parent.resolve()).replace(" ", "\\040")
    mounts.write_text(
        "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
        f"40 22 0:35 / {point} rw,relatime shared:9 - {kind} server:/export rw\n"
    )
    assert network_file_system(place, mounts) == ("" if kind == "ext4" else kind)
    assert network_file_system(tmp_path, mounts) == ""
    assert network_file_system(place, tmp_path / "none") == ""
    assert network_file_system(tmp_path) == "", "tests lie on a local disk"


def test_a_lock_that_leads_elsewhere_is_not_written_to(tmp_path: Path) -> None:
    """A workspace of somebody else may hold such a link: the writer would empty what it points at."""
    (tmp_path / "letter").write_text("dear reader")
    (tmp_path / "lock").symlink_to(tmp_path / "letter")
    with pytest.raises(WorkspaceError, match="cannot be written to: Too many levels of symbolic links"):
        WriterLock(tmp_path / "lock")
    assert (tmp_path / "letter").read_text() == "dear reader"


def test_who_only_looks_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lock"
    assert not is_held(path)
    assert not path.exists()
    with WriterLock(path):
        assert is_held(path)
        assert path.stat().st_mode & 0o133 == 0
    assert not is_held(path)
    for lock in [WriterLock(path)] * 2:
        lock.release()  # a second time does nothing
    monkeypatch.setattr("fcntl.flock", refuse)
    assert not is_held(path)  # a file system without locks


def refuse(*_: object) -> int:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(("call", "said"), [("fcntl.flock", "locked"), ("os.pwrite", "written to")])
def test_a_lock_that_cannot_be_taken_leaves_nothing_open(
    call: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(call, refuse)
        with pytest.raises(WorkspaceError, match=f"cannot be {said}: No space"):
            WriterLock(tmp_path / "lock")
    with WriterLock(tmp_path / "lock"), pytest.raises(WorkspaceError, match="is being written to"):
        WriterLock(tmp_path / "lock")
    opened = {os.path.realpath(descriptor) for descriptor in Path("/proc/self/fd").iterdir()}
    assert os.path.realpath(tmp_path / "lock") not in opened
