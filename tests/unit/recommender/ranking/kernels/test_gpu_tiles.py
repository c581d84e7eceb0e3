"""The tile model of GPUs: orders that physics demands, and levels that were measured."""

from dataclasses import replace

import numpy as np
import pytest

from recommender.cost_model.facts.device import Device
from recommender.ranking.kernels.domain import Columns
from recommender.ranking.kernels.gpu_tiles import Gpu, ProductShape, attention_times, product_times
from tests.unit.recommender.ranking.kernel_questions import GPU, columns, microseconds

A100 = Gpu.of(Device("a100", GPU), "fp16")
CUBE = ProductShape(m=4096, n=4096, k=4096)


def tile(m: int, n: int, k: int = 64, group: int = 8, stages: int = 3, warps: int = 4) -> Columns:
    names = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_stages", "num_warps")
    return columns(dict(zip(names, (m, n, k, group, stages, warps), strict=True)))


def seconds(shape: ProductShape, gpu: Gpu = A100, **sides: int) -> float:
    return float(product_times(gpu, shape, tile(**sides), 2.0).total_s[0])


def test_the_level_is_that_of_a_good_library() -> None:
    # 4096 cubed in bf16 on an A100: 0.50 to 0.55 ms by the libraries of three frameworks (aiconfigurator)
    assert 4.4e-4 < seconds(CUBE, m=128, n=128, k=32, stages=4) < 7e-4


def test_larger_tiles_are_faster_where_there_is_work_for_all() -> None:
    assert seconds(CUBE, m=128, n=128) < seconds(CUBE, m=64, n=64) < seconds(CUBE, m=32, n=32)


def test_rows_beyond_the_matrix_are_paid_for() -> None:
    few = ProductShape(m=16, n=4096, k=4096)
    assert seconds(few, m=16, n=64) < seconds(few, m=128, n=64)


def test_stages_hide_latency() -> None:
    narrow = ProductShape(m=64, n=4096, k=4096)
    assert seconds(narrow, m=64, n=64, stages=3) < seconds(narrow, m=64, n=64, stages=1)


def test_what_spills_or_overfills_does_not_fit() -> None:
    assert seconds(CUBE, m=256, n=256, warps=4) == np.inf
    assert seconds(CUBE, m=128, n=256, k=128, stages=4, warps=8) == np.inf


def test_on_hopper_only_warp_groups_reach_the_peak() -> None:
    hopper = replace(A100, capability=9.0, shared_bytes=233472.0)
    assert seconds(CUBE, hopper, m=64, n=128, warps=4) < seconds(CUBE, hopper, m=32, n=256, warps=4) * 0.85


def test_groups_of_tiles_save_memory_traffic() -> None:
    wide = ProductShape(m=16384, n=16384, k=4096)
    times = [product_times(A100, wide, tile(128, 128, group=group), 2.0).memory_s[0] for group in (1, 8)]
    assert times[1] < times[0] * 0.6


def test_sums_in_tensor_memory_need_no_registers() -> None:
    blackwell = replace(A100, capability=10.0, shared_bytes=233472.0)
    assert np.isfinite(seconds(CUBE, blackwell, m=256, n=256, k=32, stages=2, warps=4))


@pytest.mark.parametrize(("longer", "factor"), [("S", 2.0), ("H", 2.0)])
def test_attention_grows_with_its_sizes(longer: str, factor: float) -> None:
    sizes = {"S": 4096.0, "Q": 4096.0, "D": 128.0, "B": 1.0, "H": 32.0}
    large = columns({"BLOCK_M": 128, "BLOCK_N": 64, "num_stages": 3, "num_warps": 8})
    one = attention_times(A100, sizes, large, 2.0).total_s[0]
    more = attention_times(A100, {**sizes, longer: sizes[longer] * factor}, large, 2.0).total_s[0]
    assert one * factor * 0.9 < more < one * factor * 1.1
    small = {**large, "BLOCK_M": np.array([16.0]), "BLOCK_N": np.array([16.0])}
    assert attention_times(A100, sizes, small, 2.0).total_s[0] > one


# -- reference values: of the model as it was checked against tables; a change that is meant changes them ---

GPUS = {
    "ampere": A100,
    "hopper": replace(A100, capability=9.0, shared_bytes=233472.0),
    "blackwell": replace(A100, capability=10.0, shared_bytes=233472.0),
}
SHAPES = {
    "odd": ProductShape(m=4000, n=1000, k=4100),
    "wide": ProductShape(m=16384, n=16384, k=1024),
    "few": ProductShape(m=16, n=4096, k=4096, batch=3),
    "experts": ProductShape(m=100, n=2048, k=1024, row_blocks=np.array([9.0]), weight_copies=8.0),
}


@pytest.mark.parametrize(
    ("gpu", "shape", "sides", "expected"),
    [
        ("ampere", "odd", (128, 128, 32, 8, 4, 4), (179.0284, 176.0131, 24.03139, 110.9877)),
        ("ampere", "odd", (64, 64, 64, 1, 1, 8), (277.2901, 274.286, 24.03139, 110.1005)),
        ("ampere", "wide", (128, 128, 32, 2, 3, 8), (2596.726, 2546.823, 1336.009, 1762.038)),
        ("ampere", "few", (16, 128, 64, 1, 2, 2), (57.54393, 40.62071, 49.75465, 5.16222)),
        ("ampere", "experts", (16, 64, 128, 4, 3, 4), (20.29805, 10.16464, 16.75764, 1.935833)),
        ("hopper", "odd", (128, 128, 64, 8, 3, 8), (166.5844, 163.5653, 24.03139, 111.8481)),
        ("hopper", "odd", (32, 256, 64, 8, 3, 4), (257.6535, 254.6485, 24.03139, 173.3757)),
        ("blackwell", "wide", (256, 128, 64, 8, 3, 8), (2003.979, 1998.212, 545.4094, 1762.038)),
    ],
)
def test_products_take_what_they_took(
    gpu: str, shape: str, sides: tuple[int, ...], expected: tuple[float, ...]
) -> None:
    times = product_times(GPUS[gpu], SHAPES[shape], tile(*sides), 2.0)
    assert microseconds(times) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("gpu", "sides", "prefill", "decode"),
    [
        ("ampere", (128, 64, 3, 8), (2351.313, 2348.309, 120.5297, 1529.308), (1675.557, 1655.076, 753.3255, 630.7588)),
        ("ampere", (64, 32, 1, 4), (1764.98, 1761.97, 120.5297, 1487.97), (1788.628, 1771.315, 753.3255, 315.1777)),
        ("hopper", (128, 128, 2, 8), (2314.21, 2311.206, 120.5297, 1548.666), (1630.497, 1608.489, 753.3255, 630.7588)),
        ("hopper", (32, 64, 2, 2), (2951.047, 2948.045, 120.5297, 2376.9), (862.5793, 687.8684, 753.3255, 250.3011)),
    ],
)  # fmt: skip
def test_attention_takes_what_it_took(
    gpu: str, sides: tuple[int, ...], prefill: tuple[float, ...], decode: tuple[float, ...]
) -> None:
    names = ("BLOCK_M", "BLOCK_N", "num_stages", "num_warps")
    blocks = columns(dict(zip(names, sides, strict=True)))
    heads = {"D": 128.0, "B": 2.0, "H": 30.0}
    for sizes, expected in (({"S": 5000.0, "Q": 3000.0}, prefill), ({"S": 50000.0, "Q": 1.0}, decode)):
        times = attention_times(GPUS[gpu], {**heads, **sizes}, blocks, 2.0)
        assert microseconds(times) == pytest.approx(expected, rel=1e-6)
        traffic = 2 * 2 * 30 * 128 * 2 * (sizes["Q"] + sizes["S"])
        assert times.memory_s[0] == pytest.approx(traffic / 2.039e12)
