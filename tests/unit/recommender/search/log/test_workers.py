"""Workers that are gone: by their process on this machine, by their silence elsewhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recommender.search.log import workers
from recommender.search.log.workers import Watch, gone_here, worker


def test_a_process_tells_of_this_machine_alone() -> None:
    mine = worker()
    machine, pid, birth = mine.split(":")
    assert gone_here(mine) is False
    assert gone_here(f"{mine}:7") is False, "one of several workers of a process"
    assert gone_here(f"{machine}:{pid}:{birth}0:7") is True
    assert gone_here("elsewhere:1:1") is None
    assert gone_here("manual") is None


def told_by(processes: Path, pid: int, state: str, birth: str) -> None:
    """A process as Linux tells of it: number, name, state, and the start as the 22nd field."""
    (processes / str(pid)).mkdir(exist_ok=True)
    (processes / f"{pid}/stat").write_text(f"{pid} (a) b) {state} {'0 ' * 18}{birth} 0")


@pytest.mark.parametrize(
    ("state", "birth", "is_gone"),
    [("S", "77", False), ("S", "78", True), ("Z", "77", True), ("X", "77", True)],
)
def test_who_ended_or_has_another_birth_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, birth: str, is_gone: bool
) -> None:
    monkeypatch.setattr(workers, "_PROCESSES", tmp_path)
    told_by(tmp_path, 4321, state, birth)
    assert gone_here(f"{workers._machine()}:4321:77:0") is is_gone


@pytest.mark.parametrize("told", ["", "4321 (a) S 1"])
def test_where_no_birth_is_told_a_number_in_use_is_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    monkeypatch.setattr(workers, "_PROCESSES", tmp_path)
    (tmp_path / str(os.getpid())).mkdir()
    (tmp_path / f"{os.getpid()}/stat").write_text(told)
    assert gone_here(worker()) is False
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        machine, *_ = worker().split(":")
    assert gone_here(f"{machine}:{ended.pid}:alive") is True


@pytest.mark.parametrize("beat_s", [0.5, 1.0, 2.0])
def test_the_same_beat_for_long_enough_is_silence(beat_s: float) -> None:
    watch = Watch(beat_s=beat_s)
    assert watch.look({1: "a", 2: "a"}, 0.0) == set()
    for beats in (2.0, 4.0, 6.0):
        assert watch.look({1: "a", 2: f"b{beats}"}, beats * beat_s) == set()
    assert watch.look({1: "a", 2: "b6.0"}, 7.0 * beat_s) == {1}
    assert watch.look({1: "c", 2: "b6.0"}, 8.0 * beat_s) == set(), "it lives after all"


def test_who_could_not_look_does_not_take_others_for_gone() -> None:
    """A storage that is away keeps the others from writing, too."""
    watch = Watch(beat_s=1.0)
    watch.look({1: "a"}, 0.0)
    assert watch.look({1: "a"}, 100.0) == set()
    assert watch.look({1: "a"}, 103.0) == set()
    assert watch.look({1: "a"}, 106.0) == set()
    assert watch.look({1: "a"}, 106.5) == {1}


def test_a_trial_that_is_over_is_forgotten() -> None:
    watch = Watch(beat_s=1.0)
    watch.look({1: "a"}, 0.0)
    watch.look({}, 2.0)
    watch.look({1: "a"}, 4.0)
    assert watch.look({1: "a"}, 6.5) == set()
