"""The tile model of cube cores: what the vendor's guides advise comes out of it."""

from collections.abc import Mapping

import numpy as np
import pytest

from recommender.cost_model.facts.device import Device
from recommender.ranking.kernels import cube_tiles
from tests.unit.recommender.ranking.kernel_questions import NPU, columns, microseconds

DEVICE = Device("npu", NPU)
SIZES = {"M": 4096.0, "N": 4096.0, "K": 4096.0, "B": 1.0}
TILING = {
    "baseM": 128, "baseN": 256, "baseK": 64, "dbL0A": 2, "dbL0B": 2, "dbL0C": 1, "depthA1": 8, "depthB1": 8,
    "usedCoreNum": 20,
}  # fmt: skip


def seconds(sizes: Mapping[str, float] = SIZES, /, **change: float) -> float:
    tile = columns({**TILING, **change})
    return float(cube_tiles.ascendc_times(DEVICE, sizes, tile, "fp16", 2.0).total_s[0])


def test_the_level_is_that_of_the_library() -> None:
    # 137 GFLOP at 88 % of 294.9 TFLOP/s, the share that the library was measured to reach
    assert 5.2e-4 < seconds() < 6.5e-4


@pytest.mark.parametrize(
    "worse",
    [
        {"baseM": 128, "baseN": 128},
        {"dbL0A": 1},
        {"dbL0B": 1},
        {"depthA1": 1, "depthB1": 1},
        {"depthA1": 2, "depthB1": 2},
        {"baseK": 16},
        {"usedCoreNum": 10},
    ],
)
def test_each_piece_of_advice_pays(worse: dict[str, float]) -> None:
    assert seconds(**worse) > seconds() * 1.005


def test_a_core_takes_a_rectangle_of_tiles_so_that_rounds_are_those_that_are_written() -> None:
    tile = columns(TILING)
    times = cube_tiles.ascendc_times(DEVICE, SIZES, tile, "fp16", 2.0)
    down, along = cube_tiles.core_shares(
        np.array([32.0]), np.array([16.0]), tile["usedCoreNum"], tile["baseM"], tile["baseN"]
    )
    assert (down[0], along[0]) == (7, 4)  # on 5 x 4 cores
    assert times.rounds[0] == down[0] * along[0] == 28
    assert times.reason(0).startswith("512 tiles in 28 rounds over 20 cores, 9% of them idle")
    batched = cube_tiles.ascendc_times(DEVICE, {**SIZES, "B": 2.0}, tile, "fp16", 2.0)
    assert batched.rounds[0] == np.ceil(1024 / 20)


def test_tiles_that_do_not_share_the_cores_evenly_cost_a_round() -> None:
    even, odd = {**SIZES, "M": 2560.0}, {**SIZES, "M": 2560.0, "N": 4100.0}
    assert seconds(odd) / seconds(even) > 1.04


def test_triton_brings_longer_packets_and_twice() -> None:
    def triton(**change: float) -> float:
        tile = columns({
            "BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 256, "multibuffer": 1, "BLOCK_TRESHHOLD": 8, "grid": 20,
            **change,
        })  # fmt: skip
        return float(cube_tiles.triton_times(DEVICE, SIZES, tile, "fp16", 2.0).total_s[0])

    assert triton() < triton(BLOCK_K=64)
    assert triton() < triton(multibuffer=0)
    assert triton() < triton(grid=5)


def test_attention_overlaps_both_kinds_of_cores() -> None:
    sizes = {"S": 4096.0, "Q": 4096.0, "D": 128.0, "B": 1.0, "H": 32.0}
    once, twice = (
        cube_tiles.attention_times(
            DEVICE,
            sizes,
            columns({"BLOCK_M": 128, "BLOCK_N": 128, "multibuffer": value, "grid": 20}),
            "fp16",
            2.0,
        ).total_s[0]
        for value in (0, 1)
    )
    assert twice < once


# -- reference values: of the model as it was checked against tables; a change that is meant changes them ---


@pytest.mark.parametrize(
    ("change", "batch", "expected"),
    [
        ({}, 1, (258.4618, 251.7813, 41.96171, 204.8272)),
        ({"dbL0C": 2, "depthA1": 4}, 1, (253.9592, 247.276, 41.96171, 204.8272)),
        ({"dbL0A": 1}, 3, (1039.896, 1033.207, 125.8851, 614.4816)),
        ({"depthA1": 1, "depthB1": 1, "baseK": 16}, 1, (638.221, 631.586, 41.96171, 204.8272)),
        ({"baseM": 100, "baseN": 128, "usedCoreNum": 18}, 1, (327.1763, 320.5208, 41.96171, 224.0297)),
    ],
)
def test_products_take_what_they_took(
    change: dict[str, float], batch: float, expected: tuple[float, ...]
) -> None:
    sizes = {"M": 4000.0, "N": 3000.0, "K": 2100.0, "B": batch}
    times = cube_tiles.ascendc_times(DEVICE, sizes, columns({**TILING, **change}), "fp16", 2.0)
    assert microseconds(times) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, (22504.44, 22023.57, 12027.62, 19700.75)),
        ({"BLOCK_K": 32}, (27122.43, 26849.48, 12027.62, 19700.75)),
        ({"multibuffer": 0, "grid": 15}, (50693.22, 50610.36, 14107.97, 19700.75)),
        ({"BLOCK_TRESHHOLD": 2}, (24618.51, 22023.57, 19048.8, 19700.75)),
    ],
)
def test_products_in_triton_take_what_they_took(
    change: dict[str, float], expected: tuple[float, ...]
) -> None:
    sizes = {"M": 40000.0, "N": 30000.0, "K": 2100.0, "B": 1.0}
    block = {
        "BLOCK_M": 128,
        "BLOCK_N": 256,
        "BLOCK_K": 256,
        "multibuffer": 1,
        "BLOCK_TRESHHOLD": 8,
        "grid": 20,
    }
    times = cube_tiles.triton_times(DEVICE, sizes, columns({**block, **change}), "fp16", 2.0)
    assert microseconds(times) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            {"BLOCK_M": 128, "BLOCK_N": 128, "multibuffer": 1, "grid": 20},
            (2804.042, 2797.398, 181.0483, 1862.065),
        ),
        (
            {"BLOCK_M": 64, "BLOCK_N": 128, "multibuffer": 0, "grid": 15},
            (9491.104, 9484.472, 181.0483, 1823.272),
        ),
        ({"baseM": 32, "baseN": 256, "bufferNum": 2}, (5974.38, 5967.747, 181.0483, 1823.272)),
    ],
)
def test_attention_takes_what_it_took(block: dict[str, float], expected: tuple[float, ...]) -> None:
    sizes = {"S": 5000.0, "Q": 3000.0, "D": 120.0, "B": 2.0, "H": 30.0}
    times = cube_tiles.attention_times(DEVICE, sizes, columns(block), "fp16", 2.0)
    assert microseconds(times) == pytest.approx(expected, rel=1e-6)
