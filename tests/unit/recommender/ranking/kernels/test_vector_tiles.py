"""The model of kernels that memory decides: full bandwidth for good pieces, and what small or long ones cost."""

from __future__ import annotations

import numpy as np

from recommender.cost_model.facts.device import Device
from recommender.ranking.kernels import vector_tiles
from recommender.ranking.kernels.gpu_tiles import Gpu
from tests.unit.recommender.ranking.kernel_questions import GPU, NPU

A100, DEVICE = Gpu.of(Device("a100", GPU), "fp16"), Device("npu", NPU)
MANY = float(1 << 27)


def gpu(row: float = 0.0, **tile: float) -> float:
    columns = {name: np.array([float(value)]) for name, value in tile.items()}
    return float(vector_tiles.gpu_times(A100, columns, elements=MANY, row=row, element=2.0).total_s[0])


def npu(row: float = 0.0, **tile: float) -> float:
    columns = {name: np.array([float(value)]) for name, value in tile.items()}
    return float(vector_tiles.npu_times(DEVICE, columns, elements=MANY, row=row, element=2.0).total_s[0])


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
        columns = {
            name: np.array([float(value)])
            for name, value in {"BLOCK_M": m, "BLOCK_N": n, "num_warps": 4}.items()
        }
        times = vector_tiles.gpu_times(A100, columns, elements=MANY, row=0.0, element=2.0, turned=True)
        return float(times.total_s[0])

    assert turned(64, 64) < turned(16, 256) * 0.8
    assert turned(16, 256) == turned(256, 16)
