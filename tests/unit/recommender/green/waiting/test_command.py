"""The process of a command: pauses reach what it started, and a command that has ended is not begun again."""

import os
import time
from pathlib import Path

import pytest

from recommender.green.waiting import command as subject
from recommender.green.waiting.command import WaitedCommand


def running(folder: Path, text: str, pauses_by: str = "restart") -> WaitedCommand:
    """A shell that runs a line, once it has begun."""
    made = WaitedCommand(("sh", "-c", f"{text}"), str(folder), pauses_by)
    made.begin()
    return made


def wait_for(path: Path) -> None:
    until = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_what_has_ended_is_not_paused(tmp_path: Path) -> None:
    done = running(tmp_path, "exit 3")
    assert done.ends_within(10)
    assert not done.pause()
    assert not done.is_put_off
    assert done.end() == 3


def test_a_pause_ends_the_children_too(tmp_path: Path) -> None:
    made = running(tmp_path, "sleep 600 & echo $! > child; touch ready; wait")
    wait_for(tmp_path / "ready")
    assert made.pause()
    assert made.is_put_off
    with pytest.raises(ProcessLookupError):
        os.killpg(made.pid or 0, 0)
    (tmp_path / "ready").unlink()
    made.resume()
    wait_for(tmp_path / "ready")
    made.send(9)
    assert made.end() == 137


def test_what_does_not_hear_is_killed_after_its_grace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "GRACE_S", 0.2)
    made = running(tmp_path, "trap '' TERM; touch ready; while true; do sleep 0.05; done")
    wait_for(tmp_path / "ready")
    assert made.pause()
    assert not made.is_alive


def test_a_stop_halts_the_group_and_lets_it_go_on(tmp_path: Path) -> None:
    made = running(tmp_path, "(sleep 0.2; touch child) & wait; exit 4", "stop")
    assert made.pause()
    assert not made.ends_within(0.5)
    assert not (tmp_path / "child").exists()
    made.resume()
    assert made.end() == 4
    assert (tmp_path / "child").exists()
