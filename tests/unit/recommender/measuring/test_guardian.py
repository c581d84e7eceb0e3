"""The guardian: what a killed process had started ends by itself, and nothing else does."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recommender.measuring.marks import MARK

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="processes are found by /proc"
)

_OWNER = """
import os, subprocess, sys, time
from recommender.measuring.guardian import guard
from recommender.measuring.marks import MARK, new_mark
guard(float(sys.argv[2]))
code = "import signal, sys, time\\n"
code += "signal.signal(signal.SIGTERM, lambda *_: (open(sys.argv[1] + '/asked', 'w').close(), POLITE and sys.exit()))\\n"
code = code.replace("POLITE", sys.argv[3])
code += "open(sys.argv[1] + '/up', 'w').close()\\nwhile True: time.sleep(1)"
child = subprocess.Popen(
    [sys.executable, "-c", code, sys.argv[1]],
    env={**os.environ, MARK: new_mark("guarded")}, start_new_session=True,
)
open(sys.argv[1] + "/pid", "w").write(str(child.pid))
time.sleep(600)
"""


def _killed_owner(folder: Path, *, grace: float, polite: bool) -> int:
    """Kill a process that had started a child in a session of its own; the child's number."""
    owner = subprocess.Popen([sys.executable, "-c", _OWNER, str(folder), str(grace), str(polite)])
    try:
        until = time.monotonic() + 30
        while time.monotonic() < until and not ((folder / "up").exists() and (folder / "pid").exists()):
            time.sleep(0.05)
        return int((folder / "pid").read_text())
    finally:
        os.kill(owner.pid, signal.SIGKILL)
        owner.wait()


def _ends(pid: int, within: float = 30.0) -> bool:
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_what_a_killed_process_had_started_is_asked_to_end(tmp_path: Path) -> None:
    stranger = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"],
        env={**os.environ, MARK: f"guarded/{os.getpid()}/0"},  # of another process, which lives
    )
    try:
        pid = _killed_owner(tmp_path, grace=20, polite=True)
        assert _ends(pid)
        assert (tmp_path / "asked").exists()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_what_does_not_end_when_asked_is_killed_after_the_grace(tmp_path: Path) -> None:
    pid = _killed_owner(tmp_path, grace=1, polite=False)
    assert _ends(pid)
    assert (tmp_path / "asked").exists()
