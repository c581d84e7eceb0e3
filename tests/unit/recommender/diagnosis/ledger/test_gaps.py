"""Gaps of folders without a trace: sums of calls, place in the step, course over the steps."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.profiles.folder_runs import FOLDERS, write_folder
from benchmarks.profiles.mechanisms import of_folders, of_traces
from benchmarks.profiles.traced_runs import length_us
from ingest.profiles.facts.run import Rank
from ingest.profiles.folders import read_profile
from recommender.diagnosis.diagnosis import confidence_of, diagnose
from recommender.diagnosis.ledger.accounts import FREE, keep_ledger
from recommender.diagnosis.ledger.gaps import Gaps, times_of_gaps
from recommender.diagnosis.ledger.reasons import AFTER, BEFORE, HOST, STOPS, SWITCHES, UNSEEN_HOST
from recommender.diagnosis.patterns.gaps import CONJECTURE
from recommender.diagnosis.rank.host_calls import WAITS

WORLD = FOLDERS["trains"]


def booked(change: of_traces.Change, folder: Path, share: float = 0.3) -> dict[str, float]:
    """Free time of a run with a fault by reason, as parts of what the fault costs."""
    random = np.random.default_rng(3)
    step = length_us(WORLD, random) / WORLD.steps
    cost = step * share / (1 - share)
    altered = change(WORLD, cost, random)
    assert altered is not None
    [rank] = keep_ledger(read_profile(write_folder(altered, random, folder / "run"))).ranks
    assert rank.error < 1e-6
    return {item.reason: us / cost for item, us in rank.mean_us.items() if item.part == FREE}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (of_traces.starved_unseen, BEFORE),
        (of_traces.saved, AFTER),
        (of_folders.copied_blocking, WAITS),
        (of_traces.values_read, WAITS),
        (of_folders.collected_rarely, STOPS),
        (of_traces.standstill, HOST),
    ],
)
def test_the_time_of_a_fault_goes_where_its_tables_say(
    tmp_path: Path, change: of_traces.Change, reason: str
) -> None:
    found = booked(change, tmp_path)
    assert max(found, key=lambda name: found[name]) == reason
    assert found[reason] > 0.6


def gaps_of(lengths: dict[int, float], steps: int) -> Gaps:
    """One gap in each of some steps."""
    at = np.array(sorted(lengths), np.int64)
    return Gaps(
        start_ns=at * 1_000_000,
        length_us=np.array([lengths[int(step)] for step in at]),
        step=at,
        place=np.zeros(len(at), np.int64),
        queued_us=np.zeros(len(at)),
    )


@pytest.mark.parametrize(
    ("steps", "is_now_and_then"),
    [
        ((1, 4, 8), True),
        ((1, 4), True),
        ((1, 4, 7), False),
        ((1, 3, 5, 7, 9), False),
        ((5, 6, 7), False),
        ((4,), False),
    ],
)
def test_a_stop_now_and_then_lies_anyhow(make: Any, steps: tuple[int, ...], is_now_and_then: bool) -> None:
    [rank] = make().ranks
    found = times_of_gaps(gaps_of(dict.fromkeys(steps, 5000.0), 10), rank, 10)
    assert set(found) == ({STOPS} if is_now_and_then else {UNSEEN_HOST})


def test_calls_that_are_new_may_have_the_gaps_that_are_new(
    tmp_path: Path, network: Any, thresholds: Any
) -> None:
    random = np.random.default_rng(3)
    before = read_profile(write_folder(WORLD, random, tmp_path / "before"))
    altered = of_traces.values_read(WORLD, 0.4 * length_us(WORLD, random) / WORLD.steps, random)
    assert altered is not None
    now = read_profile(write_folder(altered, random, tmp_path / "now"))
    [first, *_] = diagnose(now, network, thresholds, before=before).findings
    assert first.cause.node == "host-device-synchronisation"


def test_launches_that_take_long_are_the_hosts(tmp_path: Path, network: Any, thresholds: Any) -> None:
    random = np.random.default_rng(3)
    altered = of_folders.migrated(WORLD, 0.6 * length_us(WORLD, random) / WORLD.steps, random)
    assert altered is not None
    run = read_profile(write_folder(altered, random, tmp_path / "now"))
    [first, *_] = diagnose(run, network, thresholds).findings
    assert first.cause.chain == ("host-bound",)
    assert "usual are 5 to 20" in first.cause.evidence[-1].says


def test_a_conjecture_is_told_as_one(tmp_path: Path, network: Any, thresholds: Any) -> None:
    random = np.random.default_rng(3)
    altered = of_folders.collected_rarely(WORLD, 0.4 * length_us(WORLD, random) / WORLD.steps, random)
    assert altered is not None
    run = read_profile(write_folder(altered, random, tmp_path / "now"))
    [first, *_] = diagnose(run, network, thresholds).findings
    assert first.cause.node == "python-gc-high-latency"
    assert first.confidence == CONJECTURE < confidence_of(first.part)


@pytest.mark.parametrize(
    ("each_us", "apart", "is_switch"),
    [
        (5080.0, "anyhow", True),
        (10_100.0, "anyhow", True),
        (7300.0, "anyhow", False),
        (5080.0, "one a step", False),
    ],
)
def test_stops_of_pythons_switch_interval_that_lie_anyhow_are_of_its_lock(
    each_us: float, apart: str, is_switch: bool
) -> None:
    random = np.random.default_rng(2)
    begin = np.cumsum(random.exponential(9e6, 20) if apart == "anyhow" else np.full(20, 9e6)).astype(np.int64)
    gaps = Gaps(
        start_ns=begin,
        length_us=each_us + random.uniform(0, 80, 20),
        step=np.arange(20) // 5 if apart == "anyhow" else np.arange(20),
        place=np.zeros(20, np.int64),
        queued_us=np.zeros(20),
    )
    found = times_of_gaps(gaps, Rank(rank=0, folder="", layout="test"), 20)
    assert (SWITCHES in found) is is_switch
    assert sum(float(us.sum()) for us in found.values()) == pytest.approx(gaps.length_us.sum())
