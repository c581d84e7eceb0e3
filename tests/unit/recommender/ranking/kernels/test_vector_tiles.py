"""The model of kernels that memory decides: full bandwidth for good pieces, and what small or long ones cost."""

import numpy as np
import pytest

from recommender.cost_model.facts.device import Device
from recommender.ranking.kernels import vector_tiles
from recommender.ranking.kernels.gpu_tiles import Gpu
from tests.unit.recommender.ranking.kernel_questions import GPU, NPU, columns, microseconds

A100, DEVICE = Gpu.of(Device("a100", GPU), "fp16"), Device("npu", NPU)
MANY = float(1 << 27)


def gpu(row: float = 0.0, **tile: float) -> float:
    return float(vector_tiles.gpu_times(A100, columns(tile), elements=MANY, row=row, element=2.0).total_s[0])


def npu(row: float = 0.0, **tile: float) -> float:
    return float(
        vector_tiles.npu_times(DEVICE, columns(tile), elements=MANY, row=row, element=2.0).total_s[0]
    )


def test_a_good_piece_reaches_the_bandwidth() -> None:
    ideal = 2 * MANY * 2 / 2.039e12
    assert ideal < gpu(BLOCK_SIZE=4096, num_warps=4) < ideal * 1.3


def test_rows_longer_than_a_piece_are_read_twice() -> None:
    whole = gpu(row=4096, BLOCK_SIZE=4096, ROWS=1, num_warps=8)
    assert gpu(row=4096, BLOCK_SIZE=1024, ROWS=1, num_warps=8) > whole * 1.4


def test_more_elements_than_registers_do_not_fit() -> None:
    assert gpu(BLOCK_SIZE=16384, num_warps=1) == np.inf


def test_on_ascend_small_pieces_idle_cores_and_single_buffers_cost() -> None:
    good = npu(BLOCK_SIZE=16384, multibuffer=1, grid=40)
    assert npu(BLOCK_SIZE=256, multibuffer=1, grid=10) > npu(BLOCK_SIZE=16384, multibuffer=1, grid=10) * 1.1
    assert npu(BLOCK_SIZE=16384, multibuffer=1, grid=4) > good * 1.1
    assert npu(BLOCK_SIZE=16384, multibuffer=0, grid=10) > npu(BLOCK_SIZE=16384, multibuffer=1, grid=10) * 1.3


def test_ascend_c_names_the_same_pieces() -> None:
    assert npu(row=4096, tileColumns=4096, tileRows=4, bufferNum=2, blockDim=40) == npu(
        row=4096, BLOCK_SIZE=4096, ROWS=4, multibuffer=1, grid=40
    )


def test_a_transposed_piece_is_written_in_rows_of_its_height() -> None:
    def turned(m: int, n: int) -> float:
        tile = columns({"BLOCK_M": m, "BLOCK_N": n, "num_warps": 4})
        times = vector_tiles.gpu_times(A100, tile, elements=MANY, row=0.0, element=2.0, turned=True)
        return float(times.total_s[0])

    assert turned(64, 64) < turned(16, 256) * 0.8
    assert turned(16, 256) == turned(256, 16)


# -- reference values: of the model as it was checked against tables; a change that is meant changes them ---


@pytest.mark.parametrize(
    ("row", "element", "tile", "expected"),
    [
        (0, 2, {"BLOCK_SIZE": 4096, "num_warps": 4}, (22.62516, 3.066667, 19.62223, 19.61746)),
        (4096, 2, {"BLOCK_SIZE": 1024, "ROWS": 1, "num_warps": 8}, (32.59204, 11.30213, 29.43335, 19.61746)),
        (1000, 4, {"BLOCK_SIZE": 1024, "ROWS": 4, "num_warps": 4}, (42.23803, 5.234043, 39.23492, 39.23492)),
        (0, 2, {"BLOCK_M": 16, "BLOCK_N": 256, "num_warps": 4}, (52.0587, 6.198582, 49.05558, 19.61746)),
        (0, 2, {"BLOCK_SIZE": 64, "num_warps": 1}, (24.39962, 15.75461, 19.61746, 19.61746)),
        (0, 1, {"BLOCK_SIZE": 32768, "num_warps": 8}, (12.84043, 2.110638, 9.835221, 9.80873)),
    ],
)
def test_pieces_take_what_they_took(
    row: float, element: float, tile: dict[str, float], expected: tuple[float, ...]
) -> None:
    times = vector_tiles.gpu_times(
        A100, columns(tile), elements=1e7, row=row, element=element, turned="BLOCK_M" in tile
    )
    assert microseconds(times) == pytest.approx(expected, rel=1e-6)
    assert times.ideal_s[0] == pytest.approx(2 * 1e7 * element / 2.039e12)


@pytest.mark.parametrize(
    ("row", "tile", "held", "streamed"),
    [
        (
            0,
            {"BLOCK_SIZE": 16384, "multibuffer": 1, "grid": 40},
            (38.09807, 3.110039, 31.46538, 31.43199),
            (3155.432, 912.128, 3143.243, 3143.199),
        ),
        (
            0,
            {"BLOCK_SIZE": 64, "multibuffer": 0, "grid": 30},
            (106.7916, 99.91591, 31.43199, 31.43199),
            (32623.9, 32616.56, 3143.199, 3143.199),
        ),
        (
            5000,
            {"BLOCK_SIZE": 2048, "ROWS": 3, "multibuffer": 1, "grid": 40},
            (53.80824, 6.683358, 47.17156, 31.43199),
            (4760.843, 2022.172, 4714.822, 3143.199),
        ),
        (
            0,
            {"BLOCK_M": 16, "BLOCK_N": 256, "multibuffer": 1, "grid": 40},
            (38.07449, 4.366781, 31.43964, 31.43199),
            (3178.773, 1381.677, 3143.204, 3143.199),
        ),
    ],
)
def test_pieces_on_ascend_take_what_they_took(
    row: float, tile: dict[str, float], held: tuple[float, ...], streamed: tuple[float, ...]
) -> None:
    for elements, expected in ((1e7, held), (1e9, streamed)):  # within the L2 cache, and beyond it
        times = vector_tiles.npu_times(
            DEVICE, columns(tile), elements=elements, row=row, element=2.0, turned="BLOCK_M" in tile
        )
        assert microseconds(times) == pytest.approx(expected, rel=1e-6)
