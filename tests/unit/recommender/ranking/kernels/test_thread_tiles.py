"""The model of threads: what measured tables show of tiles, by order."""

import pytest

from recommender.cost_model.facts.device import Device
from recommender.ranking.kernels import thread_tiles
from recommender.ranking.kernels.gpu_tiles import Gpu
from tests.unit.recommender.ranking.kernel_questions import GPU, columns, microseconds

A100 = Gpu.of(Device("a100", GPU), "fp32")
TILE = {
    "MWG": 128, "NWG": 128, "KWG": 32, "MDIMC": 16, "NDIMC": 8, "MDIMA": 16, "NDIMB": 16, "KWI": 2, "VWM": 4,
    "VWN": 4, "SA": 1, "SB": 1,
}  # fmt: skip


def product(**change: float) -> float:
    sizes = {"M": 4096.0, "N": 4096.0, "K": 4096.0, "B": 1.0}
    return float(thread_tiles.clblast_times(A100, sizes, columns({**TILE, **change}), 4.0).total_s[0])


def convolution(x: int, y: int, across: int, down: int, padding: int = 0) -> float:
    tile = {"block_size_x": x, "block_size_y": y, "tile_size_x": across, "tile_size_y": down}
    sizes = {"W": 4096.0, "H": 4096.0, "FW": 15.0, "FH": 15.0}
    return float(
        thread_tiles.convolution_times(A100, sizes, columns({**tile, "use_padding": padding}), 4.0).total_s[0]
    )


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


# -- reference values: of the model as it was checked against tables; a change that is meant changes them ---


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, (785.8965, 782.8954, 38.25405, 660.7642)),
        ({"SA": 0, "SB": 0, "KWI": 8}, (765.9259, 762.9247, 38.25405, 660.7642)),
        ({"SB": 0, "VWM": 1}, (792.0709, 789.0698, 38.25405, 660.7642)),
        ({"MWG": 32, "NWG": 64, "KWG": 16}, (971.2901, 968.2895, 38.25405, 645.2775)),
        ({"MDIMC": 8, "NDIMC": 8}, (843.4646, 840.4637, 38.25405, 660.7642)),
        ({"MDIMC": 32, "NDIMC": 32, "VWN": 2}, (950.8868, 947.8862, 38.25405, 660.7642)),
    ],
)
def test_products_take_what_they_took(change: dict[str, float], expected: tuple[float, ...]) -> None:
    sizes = {"M": 4000.0, "N": 1000.0, "K": 500.0, "B": 3.0}
    times = thread_tiles.clblast_times(A100, sizes, columns({**TILE, **change}), 4.0)
    assert microseconds(times) == pytest.approx(expected, rel=1e-6)
    traffic = 4 * 3 * ((4000 + 1000) * 500 + 4000 * 1000)
    assert times.memory_s[0] == pytest.approx(traffic / 2.039e12)


@pytest.mark.parametrize(
    ("tile", "expected"),
    [
        ((128, 2, 1, 4, 0), (250.5284, 246.7149, 83.71162, 207.9508)),
        ((8, 16, 1, 4, 0), (1742.712, 1739.708, 98.59343, 203.6185)),
        ((8, 16, 1, 4, 1), (532.8643, 529.7055, 98.59343, 203.6185)),
        ((4, 64, 3, 8, 0), (2161.691, 2158.69, 76.89708, 208.3667)),
        ((32, 4, 2, 7, 0), (236.0373, 232.7234, 63.10359, 206.3392)),
        ((1024, 1, 1, 1, 0), (632.4887, 622.038, 292.3315, 207.9508)),
        ((16, 2, 1, 2, 0), (613.9205, 609.8161, 178.0284, 203.0769)),
    ],
)
def test_convolutions_take_what_they_took(tile: tuple[int, ...], expected: tuple[float, ...]) -> None:
    names = ("block_size_x", "block_size_y", "tile_size_x", "tile_size_y", "use_padding")
    sizes = {"W": 4000.0, "H": 3000.0, "FW": 15.0, "FH": 11.0}
    times = thread_tiles.convolution_times(A100, sizes, columns(dict(zip(names, tile, strict=True))), 4.0)
    assert microseconds(times) == pytest.approx(expected, rel=1e-6)
