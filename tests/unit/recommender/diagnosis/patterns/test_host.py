"""Time in which the device has nothing to do."""

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


def test_copies_within_the_device_are_no_idle_host(thresholds: Any) -> None:
    from ingest.profiles.checks import KINETO
    from ingest.profiles.facts.intervals import split_steps
    from ingest.profiles.facts.kernels import COPY_CORE, KernelBuilder
    from ingest.profiles.facts.run import Profile, Rank
    from recommender.diagnosis.analysis import analyse

    builder = KernelBuilder("trace.json")
    for row, (name, core, start, lasts) in enumerate(
        (
            ("gemm", "GPU", 0, 100),
            ("Memcpy DtoD (Device -> Device)", COPY_CORE, 100, 40),
            ("Memcpy HtoD (Pageable -> Device)", COPY_CORE, 150, 30),
            ("gemm", "GPU", 200, 100),
        )
    ):
        builder.add(row, start * 1000, duration_us=float(lasts), name=name, core=core)
    kernels = builder.done()
    rank = Rank(rank=0, folder="", layout=KINETO, kernels=kernels, steps=tuple(split_steps(kernels)))
    found = analyse(Profile(path="", ranks=(rank,)), thresholds)
    assert found["host-bound"].lost_us == 60.0
    assert found["memory-copies"].lost_us == 40.0
    assert found["host-to-device-copy"].lost_us == 30.0
