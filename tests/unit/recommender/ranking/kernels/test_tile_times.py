"""Times: units that overlap, programs that hide each other's waiting, and the reason that names what decides."""

import math

import numpy as np

from recommender.cost_model.facts.device import Device
from recommender.ranking.kernels.tile_core import TileCore
from recommender.ranking.kernels.tile_times import TileTimes, TileWork, overlapped, times_of
from tests.unit.recommender.ranking.kernel_questions import GPU, NPU

A100 = TileCore.of(Device("a100", GPU), "fp16")
ONE = np.array([1.0])


def times(**change: object) -> TileTimes:
    work: dict[str, object] = {
        "parts": ONE * 30, "steps": ONE * 100, "compute": ONE * 1000, "near": ONE * 10, "far": ONE * 100,
        "latency": 400.0, "stages": ONE * 3, "memory_bytes": ONE * 1e3, "lanes": 20.0, **change,
    }  # fmt: skip
    return times_of(A100, TileWork(**work))  # type: ignore[arg-type]


def seconds(**change: object) -> float:
    return float(times(**change).total_s[0])


def test_parts_that_overlap_cost_more_where_they_are_alike() -> None:
    alike, apart = overlapped(4.0, np.array([1.0, 1.0]), np.array([1.0, 0.1]))
    assert 1.15 < alike < 1.2
    assert 1 < apart < 1.001
    assert overlapped(math.inf, ONE, 2 * ONE, 0.5) == 2


def test_programs_of_a_core_hide_each_others_waiting() -> None:
    slow = {"latency": 5000.0, "stages": ONE, "parts": ONE * 400}
    assert seconds(**slow, resident=4.0) < seconds(**slow) * 0.5


def test_what_does_not_fit_takes_for_ever_and_the_reason_names_what_decides() -> None:
    assert seconds(fits=np.array([False])) == np.inf
    bound = times(memory_bytes=ONE * 1e12)
    assert bound.reason(0).startswith("30 tiles in 2 rounds over 20 cores, 25% of them idle; memory traffic")
    both = times().followed_by(times())
    assert both.total_s[0] == 2 * times().total_s[0]


def test_a_core_of_ascend_has_no_latency_to_hide_and_its_largest_unit_decides() -> None:
    core = TileCore.of(Device("npu", NPU), "fp16")
    assert (core.count, core.latency, core.sharpness, core.whole) == (20, 0.0, math.inf, 16)
