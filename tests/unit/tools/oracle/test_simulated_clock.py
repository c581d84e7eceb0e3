"""Processes, passes and meetings in simulated time."""

import pytest

from tools.oracle.simulated_clock import ClockProcess, ClockSignal, Meeting, PassLane, SimulatedClock


def test_processes_go_on_in_the_order_of_time() -> None:
    clock, seen = SimulatedClock(), list[tuple[str, float]]()

    def wait(name: str, *times: float) -> ClockProcess:
        for time in times:
            seen.append((name, (yield ClockSignal(time))))
        yield ClockSignal()

    clock.start(wait("a", 1.0, 4.0))
    clock.start(wait("b", 3.0, 2.0))  # what is past is now
    clock.run(lambda: len(seen) == 4)
    assert seen == [("a", 1.0), ("b", 3.0), ("b", 3.0), ("a", 4.0)]
    with pytest.raises(RuntimeError, match="waits for another"):
        clock.run(lambda: False)


def test_a_pass_of_many_starts_with_the_last_and_takes_as_long_as_the_longest() -> None:
    lane = PassLane(2)
    first = lane.launch(0, 1.0, 5.0)
    second = lane.launch(0, 1.0, 1.0)  # enqueued behind
    assert first.time is None
    assert lane.launch(1, 2.0, 1.0).time == first.time == 7.0
    lane.launch(1, 2.0, 3.0)
    assert second.time == 10.0


def test_a_meeting_ends_with_the_last_and_one_yes_is_enough() -> None:
    meeting = Meeting(2, lambda says: says)
    first = meeting.join(1.0, says=False)
    assert first.time is None
    assert meeting.join(2.0, says=True).time == first.time == 2.0
    assert meeting.verdict
    meeting.join(3.0, says=False)
    meeting.join(3.0, says=False)
    assert not meeting.verdict
