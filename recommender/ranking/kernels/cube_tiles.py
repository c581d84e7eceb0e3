"""Times of matrix products on Ascend's cube cores, tile by tile.

A core brings blocks of A and B from L2 or memory to L1, from there to L0A and L0B, multiplies fractals of
16 a side and keeps the sums in L0C. Transfers overlap with products where a buffer is there twice. Rate of
the transfers to L1, shares of memory and cache, and the launch are those that the cost model's matrix
product was fitted with on measured operators. Times are seconds, arrays have a row a configuration.

Sources:
    L1 to L0A and L0B: https://gitcode.com/cann/asc-devkit/blob/master/impl/adv_api/tiling/matmul/
    matmul_tiling_algorithm.cpp. Rows below 512 bytes: https://www.hiascend.com/document/detail/en/canncommercial/
    850/opdevg/Ascendcopdevg/atlas_ascendc_best_practices_10_0014.html.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recommender.cost_model.operators.kinds import shipped
from recommender.ranking.kernels.tile_times import TileTimes, joined
from recommender.space.made.needs import FRACTAL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from recommender.cost_model.facts.device import Device
    from recommender.ranking.kernels.domain import Columns

    Floats = NDArray[np.float64]

L0A_BYTES_PER_CYCLE = 256.0
L0B_BYTES_PER_CYCLE = 128.0
ALIGNED_BYTES = 512.0
UNALIGNED_SHARE = 0.7
"""Bandwidth of transfers aligned to 32 bytes as a share of those aligned to 512."""
STEP_CYCLES = 32.0
"""Between two products of base blocks, and for each packet: flags and addresses; a choice, a few
instructions."""
PART_ROWS = 64
"""Length along K that Triton's compiler gives L0 at once: with it blocks of 256 lie twice in 64 KB."""
SUM_BYTES, OUTPUT_BYTES = 4.0, 2.0
VECTOR_BYTES_PER_CYCLE = 256.0
"""Of a vector core of the 910B (the fact ``vector_bytes_per_cycle`` of the family), where a part's is
unknown."""
SOFTMAX_PASSES = 5.0
"""Vector instructions for each score: maximum, difference, exponential, sum, conversion (FlashAttention)."""


def core_shares(rows: Floats, columns: Floats, cores: Floats, m: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Base blocks of a core down and along: each core of Ascend C's matrix product takes one rectangle.

    The division whose largest share has the fewest blocks, the squarest of these.

    Args:
        rows: Base blocks of the product down.
        columns: Base blocks of it along.
        cores: Cores in use.
        m: Rows of a base block.
        n: Columns of one.
    """
    best_down, best_along = rows, columns
    for each in np.unique(cores):
        for divisor in (d for d in range(1, int(each) + 1) if each % d == 0):
            down, along = np.ceil(rows / divisor), np.ceil(columns / (each // divisor))
            blocks, best_blocks = down * along, best_down * best_along
            squarer = down * m + along * n < best_down * m + best_along * n
            better = (cores == each) & ((blocks < best_blocks) | ((blocks == best_blocks) & squarer))
            best_down, best_along = np.where(better, down, best_down), np.where(better, along, best_along)
    return np.asarray(best_down), np.asarray(best_along)


def ascendc_times(
    device: Device, sizes: Mapping[str, float], tile: Columns, number: str, element: float
) -> TileTimes:
    """Times of Ascend C's matrix product, by the names of its TCubeTiling.

    Args:
        device: Where.
        sizes: M, N, K and B, the batch.
        tile: ``baseM``, ``baseN``, ``baseK``, ``dbL0A``, ``dbL0B``, ``dbL0C``, ``depthA1``, ``depthB1``,
            ``usedCoreNum``.
        number: Precision of the operands.
        element: Bytes of an element of them.
    """
    return _times(
        device,
        sizes,
        number,
        element,
        m=tile["baseM"],
        n=tile["baseN"],
        k=tile["baseK"],
        packet_a=np.maximum(tile["depthA1"] / 2, 1) * tile["baseK"],
        packet_b=np.maximum(tile["depthB1"] / 2, 1) * tile["baseK"],
        twice_l0=(tile["dbL0A"] == 2) & (tile["dbL0B"] == 2),
        twice_l1=(tile["depthA1"] > 1) & (tile["depthB1"] > 1),
        twice_sums=tile["dbL0C"] == 2,
        cores=tile["usedCoreNum"],
        rectangles=sizes["B"] == 1,
    )


def triton_times(
    device: Device, sizes: Mapping[str, float], tile: Columns, number: str, element: float
) -> TileTimes:
    """Times of a product in Triton on Ascend: the compiler divides a block further for L0.

    Args:
        device: Where.
        sizes: M, N, K and B, the batch.
        tile: ``BLOCK_M``, ``BLOCK_N``, ``BLOCK_K``, ``multibuffer``, ``BLOCK_TRESHHOLD``, ``grid``.
        number: Precision of the operands.
        element: Bytes of an element of them.
    """
    k = tile["BLOCK_K"]
    return _times(
        device,
        sizes,
        number,
        element,
        m=tile["BLOCK_M"],
        n=tile["BLOCK_N"],
        k=np.minimum(k, PART_ROWS),
        packet_a=k,
        packet_b=k,
        twice_l0=np.ones_like(k, dtype=bool),
        twice_l1=tile["multibuffer"] > 0,
        twice_sums=np.zeros_like(k, dtype=bool),
        cores=tile["grid"],
        square=tile["BLOCK_TRESHHOLD"],
    )


def _times(
    device: Device,
    sizes: Mapping[str, float],
    number: str,
    element: float,
    *,
    m: Floats,
    n: Floats,
    k: Floats,
    packet_a: Floats,
    packet_b: Floats,
    twice_l0: NDArray[np.bool_],
    twice_l1: NDArray[np.bool_],
    twice_sums: NDArray[np.bool_],
    cores: Floats,
    square: Floats | None = None,
    rectangles: bool = False,
) -> TileTimes:
    """Times from base blocks of ``m x n x k``, of which packets along K come to L1 at once.

    Args:
        device: Where.
        sizes: M, N, K and B.
        number: Precision.
        element: Bytes of an element.
        m: Rows of a base block.
        n: Columns.
        k: Length.
        packet_a: Length along K of what is brought of A at once.
        packet_b: The same of B.
        twice_l0: Where L0A and L0B hold two blocks.
        twice_l1: Where L1 does.
        twice_sums: Where L0C does: then results leave while the next tile is computed.
        cores: Cores in use.
        square: Side of the squares of tiles that are computed next to each other; None for tiles row by row.
        rectangles: Whether a core takes a rectangle of tiles, else any.
    """
    fitted = shipped()["matmul_w8a8" if number == "int8" else "matmul_bf16"].constants
    clock = device.clock
    rows, columns = np.ceil(sizes["M"] / m), np.ceil(sizes["N"] / n)
    tiles = rows * columns * sizes["B"]
    rounds = np.multiply(*core_shares(rows, columns, cores, m, n)) if rectangles else np.ceil(tiles / cores)
    length = np.minimum(sizes["K"], np.ceil(sizes["K"] / k) * k)
    steps = np.ceil(sizes["K"] / k)

    per_cycle = device.peak(number) * fitted["efficiency"] / device.cores / clock
    cube = 2 * _whole(m) * _whole(n) * k / per_cycle
    to_l0 = m * k * element / L0A_BYTES_PER_CYCLE + n * k * element / L0B_BYTES_PER_CYCLE
    base = np.where(twice_l0, np.maximum(cube, to_l0), cube + to_l0) + STEP_CYCLES
    to_l1 = _transfer(m * k * element, packet_a * element, fitted) + _transfer(
        n * k * element, packet_b * element, fitted
    )
    step = np.where(twice_l1, np.maximum(base, to_l1), base + to_l1)
    packets = np.ceil(sizes["K"] / packet_a) + np.ceil(sizes["K"] / packet_b)
    leave = m * n * OUTPUT_BYTES / fitted["core_bytes_per_cycle"]
    fill = (packet_a * m + packet_b * n) * element / fitted["core_bytes_per_cycle"]
    busy = rounds * (steps * step + packets * STEP_CYCLES + np.where(twice_sums, 0.0, leave)) + fill + leave

    a, b = element * sizes["M"] * length * sizes["B"], element * sizes["N"] * length * sizes["B"]
    once = a + b
    height = np.minimum(rows, 1.0 if square is None else square)
    width = np.minimum(columns, np.maximum(cores / height, 1.0))
    read = tiles / (height * width) * (height * m + width * n) * length * element
    written = OUTPUT_BYTES * sizes["M"] * sizes["N"] * sizes["B"]
    share = fitted["memory_share"] * device.memory_bandwidth
    stream = (np.where(once <= device.l2_bytes, once, np.maximum(read, once)) + written) / share
    return joined(
        on_chip=busy / clock,
        memory=stream,
        ideal=tiles / device.cores * steps * cube / clock,
        launch=fitted["launch_us"] / 1e6,
        parts=tiles,
        lanes=cores,
        rounds=rounds,
    )


def attention_times(
    device: Device, sizes: Mapping[str, float], tile: Columns, number: str, element: float
) -> TileTimes:
    """Times of attention by blocks: products on the cube core, shares on its vector cores.

    Both work at once on different blocks. Scores go to the vector cores and back through L2 where they are
    apart.

    Args:
        device: Where.
        sizes: S keys, Q queries, D width, B batch, H heads.
        tile: ``BLOCK_M`` and ``BLOCK_N`` or ``baseM`` and ``baseN``; ``multibuffer`` or ``bufferNum``.
        number: Precision of the operands.
        element: Bytes of an element of them.
    """
    fitted = shipped()["matmul_bf16"].constants
    clock = device.clock
    m, n = (tile[name] if name in tile else tile[f"base{name[-1]}"] for name in ("BLOCK_M", "BLOCK_N"))
    twice = tile["multibuffer"] > 0 if "multibuffer" in tile else tile["bufferNum"] > 1
    cores = tile.get("grid", np.full_like(m, device.cores))
    blocks = np.ceil(sizes["Q"] / m) * sizes["B"] * sizes["H"]
    steps = np.ceil(sizes["S"] / n)
    per_cycle = device.peak(number) * fitted["efficiency"] / device.cores / clock
    cube = 4 * _whole(m) * _whole(n) * _whole(np.full_like(m, sizes["D"])) / per_cycle
    to_l0 = (m + n) * (sizes["D"] + n) * element / L0B_BYTES_PER_CYCLE
    lanes = (device.get("vector_bytes_per_cycle") or VECTOR_BYTES_PER_CYCLE) * (1 if device.joint else 2)
    shares = m * n * SUM_BYTES * SOFTMAX_PASSES / lanes
    apart = 0.0 if device.joint else m * n * (SUM_BYTES + element) / fitted["core_bytes_per_cycle"]
    to_l1 = 2 * n * sizes["D"] * element / fitted["core_bytes_per_cycle"]
    parts = (np.maximum(cube, to_l0), shares + apart, to_l1)
    step = np.where(twice, np.maximum.reduce(parts), sum(parts)) + 4 * STEP_CYCLES
    fill = np.maximum.reduce(parts)
    traffic = element * sizes["B"] * sizes["H"] * sizes["D"] * (2 * sizes["Q"] + 2 * sizes["S"])
    stream = traffic / (fitted["memory_share"] * device.memory_bandwidth)
    return joined(
        on_chip=np.ceil(blocks / cores) * (steps * step + fill) / clock,
        memory=np.full_like(m, stream),
        ideal=blocks / device.cores * steps * cube / clock,
        launch=fitted["launch_us"] / 1e6,
        parts=blocks,
        lanes=cores,
    )


def _whole(size: Floats) -> Floats:
    return np.ceil(size / FRACTAL) * FRACTAL


def _transfer(count: Floats, row: Floats, fitted: Mapping[str, float]) -> Floats:
    """Cycles to bring so many bytes to L1 in rows of a length: short rows are slower."""
    aligned = np.minimum(row / ALIGNED_BYTES, 1.0)
    share = UNALIGNED_SHARE + (1 - UNALIGNED_SHARE) * aligned
    return count / (fitted["core_bytes_per_cycle"] * share)
