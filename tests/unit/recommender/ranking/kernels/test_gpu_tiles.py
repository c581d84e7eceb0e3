"""The tile model of GPUs: orders that physics demands, and levels that were measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recommender.cost_model.facts.device import Device
from recommender.ranking.kernels.domain import Columns
from recommender.ranking.kernels.gpu_tiles import Gpu, ProductShape, attention_times, product_times
from tests.unit.recommender.ranking.kernel_questions import GPU

A100 = Gpu.of(Device("a100", GPU), "fp16")
CUBE = ProductShape(m=4096, n=4096, k=4096)


def tile(m: int, n: int, k: int = 64, group: int = 8, stages: int = 3, warps: int = 4) -> Columns:
    names = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_stages", "num_warps")
    return {
        name: np.array([float(value)])
        for name, value in zip(names, (m, n, k, group, stages, warps), strict=True)
    }


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
    columns = {
        name: np.array([value])
        for name, value in {"BLOCK_M": 128.0, "BLOCK_N": 64.0, "num_stages": 3.0, "num_warps": 8.0}.items()
    }
    one = attention_times(A100, sizes, columns, 2.0).total_s[0]
    more = attention_times(A100, {**sizes, longer: sizes[longer] * factor}, columns, 2.0).total_s[0]
    assert one * factor * 0.9 < more < one * factor * 1.1
    small = {**columns, "BLOCK_M": np.array([16.0]), "BLOCK_N": np.array([16.0])}
    assert attention_times(A100, sizes, small, 2.0).total_s[0] > one
