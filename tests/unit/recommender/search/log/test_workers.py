"""Workers that are gone: by their process on this machine, by their silence elsewhere."""

import pytest

from recommender.search.log.workers import Watch, gone_here, worker


def test_a_process_tells_of_this_machine_alone() -> None:
    mine = worker()
    machine, pid, birth = mine.split(":")
    assert gone_here(mine) is False
    assert gone_here(f"{mine}:7") is False, "one of several workers of a process"
    assert gone_here(f"{machine}:{pid}:{birth}0:7") is True
    assert gone_here("elsewhere:1:1") is None
    assert gone_here("manual") is None


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
