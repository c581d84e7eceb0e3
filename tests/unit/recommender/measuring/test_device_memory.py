"""Memory after a stop: what comes back is waited for, what stays held is told with its holder."""

import os
import time
from pathlib import Path
from threading import Event, Timer

import pytest

from kg.errors import WorkspaceError
from recommender.measuring.device_memory import HeldMemory, free_host, held_host

NVIDIA = """#!/bin/sh
case "$1" in
  *compute-apps*) echo "4711, python3, 30000 MiB" ;;
  *) cat "{used}" ;;
esac
"""
ASCEND = """#!/bin/sh
echo "| 0     910B3               | OK            | 90.1        35                0    / 0             |"
echo "| 0                         | 0000:C1:00.0  | 0           0    / 0          $(cat "{used}") / 65536  |"
"""


def put(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tool of a vendor on the path; the file that says what is held."""
    used = folder / "used"
    (folder / name).write_text(text.format(used=used))
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return used


def test_memory_that_stays_held_names_its_holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used = put(tmp_path, "nvidia-smi", NVIDIA, monkeypatch)
    used.write_text("100, 81559\n5, 81559\n")
    before = HeldMemory.now()
    assert before.used == ((100, 81559), (5, 81559))
    used.write_text("100, 81559\n30005, 81559\n")
    with pytest.raises(WorkspaceError, match=r"device 1 still holds 30000 MiB more .*4711, python3"):
        before.wait_free(Event(), 0.1)


def test_memory_that_comes_back_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used = put(tmp_path, "npu-smi", ASCEND, monkeypatch)
    used.write_text("3300")
    before = HeldMemory.now()
    assert before.used == ((3300, 65536),)
    used.write_text("60000")
    timer = Timer(0.3, lambda: used.write_text("3400"))
    timer.start()
    began = time.monotonic()
    before.wait_free(Event(), 30.0)
    timer.join()
    assert time.monotonic() - began < 20


def test_what_is_left_is_that_of_the_machine_or_of_the_container(tmp_path: Path) -> None:
    group = tmp_path / "sys/fs/cgroup"
    for folder in (tmp_path / "proc", group):
        folder.mkdir(parents=True)
    assert free_host(tmp_path) == (0, 0)
    (tmp_path / "proc/meminfo").write_text("MemTotal:       2048 kB\nMemAvailable:   1024 kB\n")
    for most, current, told in (
        ("max", "1", (1024, 2048)),
        (str(1 << 40), "1", (1024, 2048)),
        (str(512 << 10), str(500 << 10), (12 + 8, 512)),
    ):
        (group / "memory.max").write_text(f"{most}\n")
        (group / "memory.current").write_text(f"{current}\n")
        (group / "memory.stat").write_text("anon 9\ninactive_file 8192\nslab 1\n")
        assert free_host(tmp_path) == (told[0] << 10, told[1] << 10)


def test_memory_that_two_share_counts_once() -> None:
    assert held_host([]) == held_host([0]) == 0
    assert held_host([os.getpid()]) > 10 << 20
