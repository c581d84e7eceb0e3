"""Headroom of kernels on their device: work by shapes, time by the device's rates."""

from dataclasses import replace
from typing import Any

import pytest

from recommender.cost_model.operators.kinds import reference_device, shipped
from recommender.diagnosis.analysis import views
from recommender.diagnosis.diagnosis import diagnose
from recommender.diagnosis.headroom import headroom, needed_us, work_of
from recommender.diagnosis.rank.view import KernelView

DEVICE = reference_device()


@pytest.mark.parametrize(
    ("operator", "shapes", "types", "results", "operations"),
    [
        ("MatMulV2", "32,4096;4096,9216", "DT_BF16;DT_BF16", "32,9216", 2.0 * 32 * 4096 * 9216),
        ("MatMulV2", "32,4096;9216,4096;9216", "DT_BF16;DT_BF16", "32,9216", 2.0 * 32 * 4096 * 9216),
        ("MatMulV3", "8192,32;8192,512", "DT_BF16;DT_BF16", "32,512", 2.0 * 32 * 8192 * 512),
        ("Gemm", "4096;4,64,1024;1024,512", "BF16;BF16;BF16", "", 2.0 * 256 * 1024 * 512),
        ("BatchMatMulV2", "16,128,64;16,64,128", "FLOAT;FLOAT", "16,128,128", 2.0 * 16 * 128 * 64 * 128),
        (
            "FlashAttentionScore",
            "2,16,4096,128;2,4,4096,128",
            "DT_BF16",
            "",
            4.0 * 2 * 16 * 4096 * 128 * 4096,
        ),
        ("FlashAttentionScoreGrad", "4096,1,2048", "DT_BF16", "", 2.5 * 4 * 4096 * 2048 * 4096),
        ("Add", "1024,1024;1024,1024", "FLOAT;DT_BF16", "1024,1024", 0.0),
    ],
)
def test_shapes_tell_the_work(
    operator: str, shapes: str, types: str, results: str, operations: float
) -> None:
    work = work_of(operator, shapes, types, results)
    assert work is not None
    assert work.operations == operations
    if operator == "Add":
        assert work.bytes == (4 + 2 + 4) * 1024 * 1024


@pytest.mark.parametrize(
    ("operator", "shapes"),
    [("MatMulV2", "4;3,5"), ("Conv2D", "8,3,224,224"), ("Add", ""), ("TopK", "4096,32")],
)
def test_what_shapes_do_not_tell_is_left_out(operator: str, shapes: str) -> None:
    assert work_of(operator, shapes, "DT_BF16", "") is None


def test_a_product_needs_what_the_fitted_model_says_and_a_sum_its_bytes() -> None:
    operators = shipped()
    product = work_of("MatMulV3", "4096,4096;4096,4096", "DT_BF16;DT_BF16", "4096,4096")
    moved = work_of("Add", "8192,8192;8192,8192", "DT_BF16;DT_BF16", "8192,8192")
    assert product is not None
    assert moved is not None
    assert needed_us(product, DEVICE, operators) == pytest.approx(
        float(operators["matmul_bf16"].times_us(DEVICE, [[4096, 4096, 4096]])[0])  # type: ignore[arg-type]
    )
    assert needed_us(moved, DEVICE, operators) > 3 * 2 * 8192**2 / DEVICE.memory_bandwidth * 1e6


def test_kernels_are_ranked_by_what_they_leave(make: Any, network: Any, thresholds: Any) -> None:
    run = make()
    assert diagnose(run, network, thresholds).headroom == ()
    slow = diagnose(make(slower=8.0), network, thresholds, device=DEVICE.facts).headroom
    assert slow[0].operator == "MatMulV3"
    assert slow[0].count == 50
    assert 0 < slow[0].of_share < 1
    assert slow[0].gain_us == pytest.approx(slow[0].us * (1 - slow[0].of_share))
    assert slow[0].gain_us <= 50 * 800.0
    [view] = views(run, None, DEVICE.facts)[0]
    assert isinstance(view, KernelView)
    assert headroom(replace(view, device={})) == ()
    assert headroom(replace(view, device={"clock_hz": 1e9})) == ()
