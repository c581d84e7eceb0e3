"""Workers that are gone: by their process on this machine, by their silence elsewhere."""

import subprocess
import sys
import time

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


@pytest.mark.skipif(sys.platform != "linux", reason="births and zombies are read in /proc")
def test_a_process_that_nobody_waited_for_is_gone_and_a_number_tells_births_apart() -> None:
    first = subprocess.Popen(["sleep", "60"])
    time.sleep(0.05)  # five ticks of the clock that births are counted in
    with subprocess.Popen(["sleep", "60"]) as second:
        births = [workers._birth(one.pid) for one in (first, second)]
        second.kill()
    machine, _ = worker().split(":", 1)
    told = f"{machine}:{first.pid}:{births[0]}"
    assert (gone_here(told), births[0] != births[1]) == (False, True)
    first.kill()
    until = time.monotonic() + 10
    while not gone_here(told):  # nobody has waited for it yet
        assert time.monotonic() < until
    first.wait()


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
