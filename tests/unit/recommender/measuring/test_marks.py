"""Marks: what was started is found again by its environment, and nothing else is touched."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recommender.measuring.marks import MARK, end_marked, kill_marked, new_mark


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found by /proc")
def test_what_a_dead_process_started_is_killed_and_nothing_else() -> None:
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    marks = ("a-test/12/0", "a-test/123/0", "a-test-of-another/12/0")
    processes = [subprocess.Popen(sleeper, env={**os.environ, MARK: mark}) for mark in marks]
    try:
        time.sleep(0.3)
        assert kill_marked("a-test/12") == 1
        assert processes[0].wait(30) == -9
        assert [process.poll() for process in processes[1:]] == [None, None]
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found by /proc")
def test_what_ends_when_asked_is_not_killed(tmp_path: Path) -> None:
    mark = new_mark("polite")
    code = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
    code += f"open({str(tmp_path / 'up')!r}, 'w').close()\nwhile True: time.sleep(1)"
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, MARK: mark})
    while not (tmp_path / "up").exists():
        time.sleep(0.02)
    assert end_marked(mark, 20.0) == 0
    assert process.wait(5) == 7
