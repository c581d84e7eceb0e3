"""Time in which the device has nothing to do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ingest.profiles.facts.run import Profile
from recommender.diagnosis.analysis import analyse


def test_copies_count_where_no_kernel_runs(make: Any, thresholds: Any) -> None:
    work = [*[("MEMCPY_ASYNC", "MEMCPY", 400.0)] * 5, ("RmsNorm", "AI_VECTOR_CORE", 50.0)]
    (rank,) = make(work, gap_us=10.0).ranks
    free = sum(step.free_us for step in rank.steps)
    assert free >= 5 * 400.0
    found = analyse(Profile(path="run", ranks=(rank,)), thresholds)["host-to-device-copy"]
    assert found.lost_us == pytest.approx(5 * 400.0)
    busy = replace(rank, steps=tuple(replace(step, free_us=0.0) for step in rank.steps))
    assert analyse(Profile(path="run", ranks=(busy,)), thresholds)["host-to-device-copy"].lost_us == 0
