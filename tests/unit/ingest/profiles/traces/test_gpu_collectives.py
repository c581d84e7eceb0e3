"""Traces of PyTorch of GPUs: one rank, several ranks beside each other, memory, and what they do not tell."""

from pathlib import Path
from typing import Any

import pytest

from ingest.profiles.facts.run import Profile
from ingest.profiles.folders import read_profile
from ingest.profiles.traces.gpu_collectives import LEAST_CALLS, bound_waiting
from recommender.diagnosis.rank.groups import stage_of
from tests.samples.gpu_traces import kernel, write


def collective(
    ts: float, dur: float, name: str = "allreduce", told: dict[str, object] | None = None
) -> dict[str, object]:
    args: dict[str, object] = {
        "Collective name": name, "In msg nelems": 500_000, "Out msg nelems": 500_000, "Group size": 2,
        "dtype": "BFloat16", "Process Group Name": "0", "Process Group Ranks": "[0, 1]", **(told or {}),
    }  # fmt: skip
    return kernel(f"ncclDevKernel_{name}_Sum_bf16_RING_LL", ts, dur, **args)


def waits(profile: Profile) -> list[list[float]]:
    return [[round(item.wait_ms * 1e3, 6) for item in rank.collectives] for rank in profile.ranks]


def test_waiting_is_what_a_kernel_lasts_longer_than_the_shortest_of_its_group(tmp_path: Path) -> None:
    write(tmp_path, 0, kernel("gemm", 0, 50), collective(100, 60), collective(200, 20))
    write(tmp_path, 1, kernel("gemm", 9000, 90), collective(9140, 20), collective(9200, 35))
    profile = read_profile(tmp_path)
    assert [rank.rank for rank in profile.ranks] == [0, 1]
    assert waits(profile) == [[40.0, 0.0], [0.0, 15.0]]
    first = profile.ranks[0].collectives[0]
    assert (first.elapse_ms, first.transit_ms) == (0.06, 0.02)
    [moved] = first.transfers
    assert moved.size_mb == 1.0
    assert moved.bandwidth_gb_s == pytest.approx(50.0)
    assert all("waiting" not in item.what for rank in profile.ranks for item in rank.missing)


def test_one_rank_alone_does_not_tell_what_it_waited(tmp_path: Path) -> None:
    [rank] = read_profile(write(tmp_path, 0, collective(100, 60))).ranks
    assert rank.collectives == ()
    assert len(rank.details.group_calls) == 1
    assert "waiting and transfer of collectives" in {item.what for item in rank.missing}


@pytest.mark.parametrize(
    "second",
    [
        [
            collective(100, 20),
            collective(200, 20),
        ],  # another number of calls: which belong together is not told
        [collective(100, 20, told={"In msg nelems": 7, "Out msg nelems": 7})],
        [collective(100, 20, name="broadcast")],
        [collective(100, 20, told={"Process Group Name": "1"})],
        [collective(100, 20, told={"Group size": 4, "Process Group Ranks": "[0, 1, 2, 3]"})],
    ],
)
def test_calls_that_may_not_be_one_are_not_compared(tmp_path: Path, second: list[Any]) -> None:
    write(tmp_path, 0, collective(100, 60))
    write(tmp_path, 1, *second)
    assert waits(read_profile(tmp_path)) == [[], []]


def test_a_broadcast_and_a_send_tell_no_waiting(tmp_path: Path) -> None:
    for rank, lasted in ((0, 60), (1, 20)):
        write(tmp_path, rank, collective(100, lasted, name="broadcast"), collective(300, lasted, name="send"))
    assert waits(read_profile(tmp_path)) == [[], []]


def test_of_many_sends_the_shortest_on_any_rank_tells_how_long_data_moves(tmp_path: Path) -> None:
    about: dict[str, object] = {"Process Group Description": "PIPELINE_MODEL_PARALLEL_GROUP"}
    for rank, lasted in ((0, 60.0), (1, 20.0)):
        calls = [collective(100.0 * at, lasted, name="recv", told=about) for at in range(LEAST_CALLS)]
        write(tmp_path, rank, kernel("gemm", 5000, 50), *calls)
    profile = read_profile(tmp_path)
    assert waits(profile) == [[40.0] * LEAST_CALLS, [0.0] * LEAST_CALLS]
    assert all(item.is_p2p for rank in profile.ranks for item in rank.collectives)
    assert [stage_of(rank) for rank in profile.ranks] == [0, 1]


def test_numbers_of_calls_match_recordings_that_begin_at_different_calls(tmp_path: Path) -> None:
    write(tmp_path, 0, collective(100, 60, told={"Seq": 4}), collective(200, 20, told={"Seq": 5}))
    write(tmp_path, 1, collective(9200, 35, told={"Seq": 5}), collective(9300, 20, told={"Seq": 6}))
    assert waits(read_profile(tmp_path)) == [[0.0], [15.0]]


@pytest.mark.parametrize(("count", "told"), [(LEAST_CALLS, True), (LEAST_CALLS - 1, False)])
def test_of_one_rank_no_call_moves_longer_than_the_shortest_of_its_size(
    tmp_path: Path, count: int, told: bool
) -> None:
    calls = [collective(100.0 * at, 30.0 + at) for at in range(count)]
    write(tmp_path, 0, kernel("gemm", 0, 50), *calls, collective(5000, 90, told={"In msg nelems": 900_000}))
    [rank] = read_profile(tmp_path).ranks
    assert rank.collectives == ()
    found = bound_waiting(rank.details.group_calls)
    assert [round(item.wait_ms * 1e3, 6) for item in found] == (
        [float(at) for at in range(count)] if told else []
    )
