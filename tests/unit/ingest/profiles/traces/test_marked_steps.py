"""A host that runs ahead of its device marks steps before their work."""

import json
from pathlib import Path

import pytest

from ingest.profiles.facts.run import Rank
from ingest.profiles.folders import read_profile

Event = dict[str, object]


def mark(number: int, ts: float, dur: float) -> Event:
    return {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 1, "tid": 1, "ts": ts,
            "dur": dur, "args": {}}  # fmt: skip


def work(number: int | None, launched: float, ts: float, dur: float, stream: int = 7) -> list[Event]:
    """A launch and its kernel; without a number the launch was not recorded."""
    args: Event = {"stream": stream, "device": 0}
    kernel: Event = {
        "ph": "X",
        "cat": "kernel",
        "name": "gemm",
        "pid": 0,
        "tid": stream,
        "ts": ts,
        "dur": dur,
    }
    if number is None:
        return [kernel | {"args": args}]
    launch: Event = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                     "ts": launched, "dur": 2, "args": {"correlation": number}}  # fmt: skip
    return [launch, kernel | {"args": args | {"correlation": number}}]


def read(folder: Path, *events: Event) -> Rank:
    path = folder / "host_0.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": list(events)}))
    [rank] = read_profile(path).ranks
    return rank


def steps(rank: Rank) -> dict[str, float]:
    return {step.step: step.step_us for step in rank.steps}


def behind(*, recorded: bool = True) -> list[Event]:
    """Three steps of 100 us each on a device that is busy all the time, 80 us behind the host's marks."""
    events = [item for number in range(3) for item in (mark(number, 1000 + 100 * number, 100),)]
    events += work(None, 0, 930, 150)  # of a step before, whose launch was not recorded
    for number in range(3):
        for part in (0, 1):
            at = 1080 + 100 * number + 50 * part
            events += work(
                10 * number + part + 1 if recorded else None, 1010 + 100 * number + 30 * part, at, 50
            )
    return events


def test_a_step_begins_when_the_device_has_done_what_was_launched_before(tmp_path: Path) -> None:
    rank = read(tmp_path, *behind())
    assert steps(rank) == pytest.approx({"0": 100, "1": 100, "2": 100})
    assert rank.notes == ()
    assert rank.kernels is not None
    assert [rank.kernels.text("step", row) for row in range(7)] == ["", "0", "0", "1", "1", "2", "2"]


def test_a_reduction_at_the_end_is_of_the_step_that_launched_it(tmp_path: Path) -> None:
    events = [item for number in range(2) for item in (mark(number, 1000 + 100 * number, 100),)]
    for number in range(2):
        at = 1050 + 100 * number
        events += work(10 * number + 1, 1010 + 100 * number, at, 60)
        events += work(10 * number + 2, 1020 + 100 * number, at + 60, 40, stream=20)
    rank = read(tmp_path, *events)
    assert steps(rank) == pytest.approx({"0": 100, "1": 100})
    assert rank.kernels is not None
    assert [rank.kernels.text("step", row) for row in range(4)] == ["0", "0", "1", "1"]


def test_work_behind_the_end_whose_launch_nobody_recorded_is_of_no_step(tmp_path: Path) -> None:
    rank = read(tmp_path, *behind(), *work(None, 0, 2000, 50), *work(None, 0, 2050, 50, stream=9))
    assert steps(rank) == pytest.approx({"0": 100, "1": 100, "2": 100})


def test_a_mark_that_lasts_longer_than_its_work_is_told(tmp_path: Path) -> None:
    rank = read(tmp_path, mark(4, 0, 1000), *work(1, 100, 300, 200), *work(2, 200, 500, 100))
    assert steps(rank) == {"4": 300.0}
    assert [note.partition(": ")[2] for note in rank.notes] == [
        "step 4 counts from its first work on the device; its mark begins 0.30 ms earlier",
        "step 4 counts to its last work on the device; its mark ends 0.40 ms later",
    ]


@pytest.mark.parametrize("number", ["7", -1, 1 << 70, 1.5, None, [1]])
def test_numbers_that_are_none_tell_no_launch(tmp_path: Path, number: object) -> None:
    events = behind()
    for event in events:
        args = event["args"]
        assert isinstance(args, dict)
        if "correlation" in args:
            args["correlation"] = number
    assert steps(read(tmp_path, *events)) == pytest.approx({"0": 50, "1": 100, "2": 150})


@pytest.mark.parametrize(("updates", "expected"), [(5, 4), (3, 1)])
def test_what_lies_between_updates_is_a_step_where_none_is_marked(
    tmp_path: Path, updates: int, expected: int
) -> None:
    events: list[Event] = []
    for at in range(updates):
        events += work(at + 1, 100.0 * at, 100.0 * at + 10, 60.0)
        events.append(mark(0, 100.0 * at + 80, 10.0) | {"name": "Optimizer.step#SGD.step"})
    found = read(tmp_path, *events)
    assert len(found.steps) == expected
    if expected > 1:
        assert [step.step_us for step in found.steps[1:]] == pytest.approx([100.0] * (expected - 1))
