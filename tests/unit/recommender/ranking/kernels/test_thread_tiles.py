"""The model of threads: what measured tables show of tiles, by order."""

from __future__ import annotations

import numpy as np

from recommender.cost_model.facts.device import Device
from recommender.ranking.kernels import thread_tiles
from recommender.ranking.kernels.gpu_tiles import Gpu
from tests.unit.recommender.ranking.kernel_questions import GPU

A100 = Gpu.of(Device("a100", GPU), "fp32")
TILE = {
    "MWG": 128, "NWG": 128, "KWG": 32, "MDIMC": 16, "NDIMC": 8, "MDIMA": 16, "NDIMB": 16, "KWI": 2, "VWM": 4,
    "VWN": 4, "SA": 1, "SB": 1,
}  # fmt: skip


def product(**change: float) -> float:
    columns = {name: np.array([float(value)]) for name, value in {**TILE, **change}.items()}
    sizes = {"M": 4096.0, "N": 4096.0, "K": 4096.0, "B": 1.0}
    return float(thread_tiles.clblast_times(A100, sizes, columns, 4.0).total_s[0])


def convolution(x: int, y: int, across: int, down: int, padding: int = 0) -> float:
    columns = {
        name: np.array([float(value)])
        for name, value in {
            "block_size_x": x, "block_size_y": y, "tile_size_x": across, "tile_size_y": down, "use_padding": padding,
        }.items()
    }  # fmt: skip
    sizes = {"W": 4096.0, "H": 4096.0, "FW": 15.0, "FH": 15.0}
    return float(thread_tiles.convolution_times(A100, sizes, columns, 4.0).total_s[0])


def test_a_thread_needs_enough_products_to_a_load() -> None:
    assert product() < product(MWG=32, NWG=32) * 0.75
    assert product() > 2 * 4096**3 / 19.5e12


def test_wide_loads_need_fewer_instructions() -> None:
    assert product() <= product(VWM=1, VWN=1)


def test_rows_of_a_warp_lie_next_to_each_other() -> None:
    assert convolution(128, 2, 1, 4) < convolution(4, 64, 1, 4)
    assert convolution(8, 16, 1, 4, padding=1) < convolution(8, 16, 1, 4)


def test_outputs_below_each_other_share_rows_until_registers_spill() -> None:
    assert convolution(128, 2, 1, 7) < convolution(128, 2, 1, 1) * 0.7
    assert convolution(128, 2, 3, 8) > convolution(128, 2, 2, 7)
