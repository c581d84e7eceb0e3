"""A process that runs on: ready, dead, silent, interrupted, polite and stubborn."""

import os
import shutil
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from kg.errors import InputError
from recommender.measuring.outcome import CancelledError
from recommender.tune import engine_process
from recommender.tune.engine_process import EngineProcess, StartError, telling_line


def start(tmp_path: Path, code: str, grace: float = 5.0) -> EngineProcess:
    return EngineProcess.start(
        [sys.executable, "-u", "-c", code],
        folder=tmp_path, environment=dict(os.environ), log=tmp_path / "log", mark="test-process", grace_s=grace,
    )  # fmt: skip


def test_it_is_ready_when_it_says_so(tmp_path: Path) -> None:
    process = start(
        tmp_path, f"import time; time.sleep(.2); open({str(tmp_path / 'up')!r}, 'w'); time.sleep(60)"
    )
    took = process.wait_ready((tmp_path / "up").exists, "its door", silence_s=30, cancel=threading.Event())
    assert took > 0.1
    assert process.pids
    assert process.stop() == 0
    assert process.pids == []


def test_a_start_that_dies_ends_the_wait_with_its_last_fault(tmp_path: Path) -> None:
    process = start(tmp_path, "print('ValueError: no such flag --x'); print('bye'); raise SystemExit(3)")
    with pytest.raises(
        StartError, match=r"before it was ready \(exit code 3: ValueError: no such flag --x\)"
    ):
        process.wait_ready(lambda: False, "its door", silence_s=30, cancel=threading.Event())
    process.stop()


def test_a_start_that_is_silent_is_given_up_and_one_that_speaks_is_not(tmp_path: Path) -> None:
    process = start(tmp_path, "import time; print('loading'); time.sleep(60)")
    with pytest.raises(
        StartError, match=r"not ready after 1 s: its door does not answer, .*on no port; .*loading"
    ):
        process.wait_ready(lambda: False, "its door", silence_s=0.6, cancel=threading.Event())
    process.stop()
    began = time.monotonic()
    process = start(tmp_path, "import time\nwhile True: print('shard'); time.sleep(.1)")
    with pytest.raises(StartError):
        process.wait_ready(lambda: False, "its door", silence_s=0.6, cancel=threading.Event())
    assert time.monotonic() - began > 2.0  # what it says keeps it, and not for ever
    process.stop()


def test_a_wait_can_be_interrupted(tmp_path: Path) -> None:
    process, cancel = start(tmp_path, "import time; time.sleep(60)"), threading.Event()
    threading.Timer(0.2, cancel.set).start()
    with pytest.raises(CancelledError):
        process.wait_ready(lambda: False, "its door", silence_s=30, cancel=cancel)
    process.stop()


def test_what_ignores_being_asked_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    code = (
        "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True); "
        f"open({str(tmp_path / 'up')!r}, 'w'); time.sleep(60)"
    )
    process = start(tmp_path, code, grace=0.5)
    process.wait_ready((tmp_path / "up").exists, "its door", silence_s=30, cancel=threading.Event())
    assert len(process.pids) == 2
    assert process.stop() == 2  # who ignores a signal hands that down
    assert process.pids == []


def test_where_marks_cannot_be_read_the_group_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = start(tmp_path, "import time; time.sleep(60)")
    monkeypatch.setattr("recommender.tune.engine_process.end_marked", lambda *_: 0)
    process.stop()
    assert process.process.returncode == -15


def test_a_script_that_leaves_its_server_behind_has_not_ended(tmp_path: Path) -> None:
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    process = start(tmp_path, code)
    process.process.wait()
    assert process.end == ""
    process.stop()
    assert process.pids == []


def test_what_cannot_be_run_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot run 'no-such-program'"):
        EngineProcess.start(
            ["no-such-program"], folder=tmp_path, environment={}, log=tmp_path / "log", mark="x", grace_s=1
        )


def test_the_line_that_tells(tmp_path: Path) -> None:
    assert telling_line(tmp_path / "none") == ""
    (tmp_path / "log").write_text("a\nRuntimeError: out of memory\nshutting down\n\n")
    assert telling_line(tmp_path / "log") == "RuntimeError: out of memory"
    (tmp_path / "log").write_text("ValueError: cannot read --api-key sk-123456\n")
    assert "sk-123456" not in telling_line(tmp_path / "log")
    (tmp_path / "log").write_text(
        "failed to open 'a.gguf' (No such file or directory)\nexiting due to an error\n"
    )
    assert "a.gguf" in telling_line(tmp_path / "log")
    (tmp_path / "log").write_text("failed to import flash: module not found\nValueError: 9 is too long\n")
    assert telling_line(tmp_path / "log") == "ValueError: 9 is too long"
    (tmp_path / "log").write_text("MemoryError: 9 GiB\nRuntimeError: start failed. See root cause above.\n")
    assert telling_line(tmp_path / "log") == "MemoryError: 9 GiB"
    (tmp_path / "log").write_text("a\nb\n")
    assert telling_line(tmp_path / "log") == "b"
    assert (tmp_path / "log").stat().st_size


def test_what_takes_the_last_memory_of_the_machine_is_killed_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 64 MiB: beside 1 GiB that is free it is not to blame, beside 16 MiB it is."""
    free = [1 << 30]
    monkeypatch.setattr(engine_process, "free_host", lambda: (free[0], 64 << 30))
    process = start(tmp_path, "import time; held = b'x' * (64 << 20); print('up'); time.sleep(60)")
    with pytest.raises(StartError, match="not ready"):
        process.wait_ready(lambda: False, "its door", silence_s=1.5, cancel=threading.Event())
    assert process.end == ""
    free[0] = 16 << 20
    with pytest.raises(StartError, match=r"killed: it holds \d\d MiB, and 16 of the machine's are left"):
        process.wait_ready(lambda: False, "its door", silence_s=30, cancel=threading.Event())
    process.stop()
    assert process.pids == []


def test_what_fills_the_disk_with_its_log_is_killed_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [9 << 30]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=left[0], used=0, total=0))
    process = start(tmp_path, "import time; print('up'); time.sleep(60)")
    left[0] = 1 << 20
    with pytest.raises(StartError, match="killed: 1 MiB are left on the disk of its log"):
        process.wait_ready(lambda: False, "its door", silence_s=30, cancel=threading.Event())
    process.stop()
