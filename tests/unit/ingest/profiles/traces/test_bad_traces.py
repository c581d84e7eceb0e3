"""Traces as they break: clocks apart, two jobs in a folder, steps and kernels where they cannot be."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingest.profiles.facts.intervals import split_steps
from ingest.profiles.facts.kernels import KernelBuilder
from ingest.profiles.folders import read_profile
from recommender.diagnosis.ledger.accounts import keep_ledger


def event(cat: str, name: str, ts: float, dur: float, **args: object) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur,
            "args": {"stream": 7, "device": 0, **args}}  # fmt: skip


def job(shift: float = 0.0, late: float = 0.0) -> list[dict[str, Any]]:
    """Two steps of 100 µs, each with two products and a collective; the last kernel runs behind the end."""
    events = []
    for step in (0, 1):
        at = shift + 1000 + 100 * step
        events += [
            event("user_annotation", f"ProfilerStep#{step}", at, 100),
            event("kernel", "gemm_a", at + 5, 30),
            event("kernel", "gemm_b", at + 40, 20 + late),
            event("kernel", "ncclDevKernel_AllReduce_Sum", at + 65 + late, 45 - late,
                  **{"Collective name": "allreduce", "Process Group Name": "0", "Process Group Ranks": [0, 1],
                     "Group size": 2, "Seq": step, "In msg nelems": 1000, "dtype": "Float"}),
        ]  # fmt: skip
    return events


def write(folder: Path, name: str, events: list[dict[str, Any]], rank: int | None = None) -> Path:
    content: dict[str, Any] = {"schemaVersion": 1, "traceEvents": events}
    if rank is not None:
        content["distributedInfo"] = {"rank": rank, "world_size": 2}
    path = folder / f"{name}.pt.trace.json"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("hour", [3.6e9, -3.6e9])
def test_clocks_of_ranks_may_differ_by_an_hour(tmp_path: Path, hour: float) -> None:
    for folder, shift in (("same", 0.0), ("apart", hour)):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, "a", job(4e9), 0)
        write(tmp_path / folder, "b", job(4e9 + shift, late=10), 1)
    waits = {
        folder: [
            [round(c.wait_ms, 6) for c in rank.collectives] for rank in read_profile(tmp_path / folder).ranks
        ]
        for folder in ("same", "apart")
    }
    assert waits["apart"] == waits["same"] == [[0.01, 0.01], [0.0, 0.0]]


def test_files_that_tell_no_rank_are_numbered_and_that_is_told(tmp_path: Path) -> None:
    write(tmp_path, "worker_b", job())
    write(tmp_path, "worker_a", job())
    profile = read_profile(tmp_path)
    assert [(rank.rank, rank.folder) for rank in profile.ranks] == [
        (0, "worker_a.pt.trace.json"),
        (1, "worker_b.pt.trace.json"),
    ]
    assert any("0 is worker_a.pt.trace.json" in note for note in profile.notes)


def test_two_jobs_in_a_folder_are_told_and_are_no_peers(tmp_path: Path, shipped: Any) -> None:
    write(tmp_path, "first", job(), 0)
    other = [event("kernel", f"conv_{i}", 200 * i, 190) for i in range(40)]
    write(tmp_path, "second", other, 0)
    answer = shipped.diagnose(tmp_path)
    assert any("rank 0 comes more than once" in note for note in answer.profile.notes)
    assert any("0% of the time of kernels is alike" in note for note in answer.profile.notes)
    assert "slow-rank" not in answer.diagnosis.evidence


def test_jobs_that_have_their_collectives_in_common_are_two(tmp_path: Path) -> None:
    write(tmp_path, "first", job(), 0)
    other = [{**item, "name": item["name"].replace("gemm", "conv")} for item in job()]
    write(tmp_path, "second", other, 1)
    assert any("0% of the time of kernels is alike" in note for note in read_profile(tmp_path).notes)


def test_a_step_longer_than_its_trace_lasts_as_long_as_its_work(tmp_path: Path) -> None:
    events = job()
    events[0]["dur"] = events[4]["dur"] = 1e9
    [rank] = read_profile(write(tmp_path, "a", events, 0)).ranks
    assert [step.step_us for step in rank.steps] == [105, 105]


def test_kernels_after_the_end_are_of_no_step(tmp_path: Path) -> None:
    events = [*job(), event("kernel", "checkpoint", 5_000_000, 900), event("kernel", "other", 5_000_950, 900)]
    [rank] = read_profile(write(tmp_path, "a", events, 0)).ranks
    assert [(step.step, step.step_us) for step in rank.steps] == [("0", 105), ("1", 105)]
    assert rank.kernels is not None
    assert [rank.kernels.text("step", row) for row in range(8)] == ["0"] * 3 + ["1"] * 3 + ["", ""]


def test_kernels_that_overlap_or_end_before_they_begin_leave_no_gap_below_zero(tmp_path: Path) -> None:
    events = job()
    events[1]["dur"] = 500  # over the next step
    events[2]["dur"] = -20
    profile = read_profile(write(tmp_path, "a", events, 0))
    [rank] = profile.ranks
    assert all(step.free_us >= 0 for step in rank.steps)
    assert any("1 events last no time that can be" in note for note in rank.notes)
    [ledger] = keep_ledger(profile).ranks
    assert ledger.time_us.min() >= 0
    assert np.allclose(ledger.time_us.sum(axis=1), ledger.step_us)


def test_ten_thousand_steps_are_split_each_by_itself() -> None:
    builder = KernelBuilder("trace.json")
    for step in range(10_000):
        at = step * 1_000_000
        builder.add(3 * step, at, duration_us=100 + step % 7, name="gemm", core="GPU", step=str(step))
        builder.add(
            3 * step + 1, at + 50_000, duration_us=300, name="nccl", core="COMMUNICATION", step=str(step)
        )
        builder.add(3 * step + 2, at + 900_000, duration_us=50, name="copy", core="MEMCPY", step=str(step))
    steps = split_steps(builder.build())
    assert len(steps) == 10_000
    for number in (0, 5, 9_999):
        split = steps[number]
        assert (split.step, split.step_us, split.computing_us) == (str(number), 350, 100 + number % 7)
        assert (split.overlapped_us, split.exposed_us, split.free_us) == (
            50 + number % 7,
            250 - number % 7,
            0,
        )


def test_steps_within_steps_are_told(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [
        {
            "ph": "X",
            "cat": "kernel",
            "name": "gemm",
            "ts": 10 + 60 * row,
            "dur": 50,
            "pid": 0,
            "tid": 7,
            "args": {},
        }
        for row in range(50)
    ]
    for number, start, lasts in ((1, 0, 3000), (2, 1000, 500)):
        name = f"ProfilerStep#{number}"
        events.append(
            {"ph": "X", "cat": "user_annotation", "name": name, "ts": start, "dur": lasts, "pid": 1, "tid": 1}
        )
    path = tmp_path / "rank0.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    [rank] = read_profile(path).ranks
    assert any("begin within another: 1" in note for note in rank.notes)
    assert sum(step.computing_us for step in rank.steps) == 50 * 50


def test_events_that_are_no_json_are_left_out_and_told(tmp_path: Path) -> None:
    events = [json.dumps(item, indent=1) for item in job()]
    broken = '{\n "ph": "X",\n "name": "hook.py(0):         """,\n "ts": 1,\n "args": {\n  "x": 1\n }\n}'
    text = ",\n".join([broken, *events[:3], broken, *events[3:]])
    path = tmp_path / "host_0.pt.trace.json"
    path.write_text('{"schemaVersion": 1, "traceEvents": [\n' + text + '\n], "with_stack": 1}')
    [rank] = read_profile(path).ranks
    assert rank.kernels is not None
    assert len(rank.kernels) == 6
    assert rank.notes == (f"{path.name}: 2 events are no JSON, and are left out",)
    path.write_text(
        '{"schemaVersion": 1, "traceEvents": [\n' + ",\n".join(events[:3]) + ",\n{" + "]\n{" * 2000
    )
    [rank] = read_profile(path).ranks
    assert rank.kernels is not None
    assert len(rank.kernels) == 2
    assert any("read up to there" in note for note in rank.notes)
