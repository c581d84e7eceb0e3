"""Operators that a better program would not run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.profiles import traced_runs as runs
from ingest.profiles.folders import read_profile
from recommender.diagnosis.analysis import analyse
from recommender.diagnosis.diagnosis import diagnose


def test_padding_is_told_from_other_copies(make: Any, thresholds: Any) -> None:
    extra = [("PadV3", "AI_VECTOR_CORE", 60.0), ("Slice", "AI_VECTOR_CORE", 20.0)] * 20
    found = analyse(make(extra), thresholds)
    assert found["data-padding"].lost_us == 20 * 60.0
    assert found["memory-copies"].lost_us == 20 * 20.0


def test_causes_that_the_same_kernels_show_leave_their_effect(
    make: Any, network: Any, thresholds: Any
) -> None:
    """All of what runs on the AI CPU indexes and is of a type without a kernel: which is the reason is open."""
    both = make([("NonZero", "AI_CPU", 90.0)] * 20, types="INT64;INT64")
    assert [item.cause.node for item in diagnose(both, network, thresholds).findings] == ["aicpu-operator"]
    one = make([("NonZero", "AI_CPU", 90.0)] * 20)
    assert [item.cause.node for item in diagnose(one, network, thresholds).findings] == ["index-operators"]


@pytest.mark.parametrize(("kernels", "lost"), [(7, 52.0 + 53 + 54 + 55 + 51), (3, 0.0)])
def test_convolutions_tried_on_the_same_tensors_are_a_search(
    make: Any, thresholds: Any, kernels: int, lost: float
) -> None:
    """The fastest and the last, which the program uses, stay; a call needs up to three."""
    tried = [(f"Conv2DV{at}", "AI_CORE", 50.0 + at) for at in range(kernels)]
    found = analyse(make(tried), thresholds)
    assert ("operator-compilation-latency" in found) == (lost > 0)
    if lost:
        assert found["operator-compilation-latency"].lost_us == lost


def test_wide_products_of_written_out_attention_are_its_cost(
    tmp_path: Path, network: Any, thresholds: Any
) -> None:
    """A mask that is made anew stands between them; the other products are narrow."""
    fill = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>"
    attention = [
        (runs.GEMM_32, 300.0),
        (fill, 2.0),
        (runs.SCALE, 20.0),
        (runs.SOFTMAX, 40.0),
        (runs.GEMM_32, 300.0),
    ]
    layer = ((runs.NORM, 30.0), (runs.GEMM, 600.0), *attention, (runs.CAST, 5.0), (runs.GEMM, 900.0))
    world = replace(
        runs.WORLDS["serves on MI300X"], layer=layer, device="NVIDIA A100-SXM4-80GB", runtime="cuda"
    )
    run = read_profile(runs.write(world, np.random.default_rng(4), tmp_path / "run.pt.trace.json"))
    [first, *others] = diagnose(run, network, thresholds).findings
    assert first.cause.node == "attention-memory-traffic"
    assert first.cause.share == pytest.approx((300 + 62) / 2197, rel=0.1)
    assert "precision-excess" not in [item.cause.node for item in others]
